"""`Audit`: which rows of a labeled table are suspicious, and why."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.data_errors import (
    CODE,
    FAR_OUT,
    ODD,
    STUCK,
    SWAPPED,
    ColumnError,
    DataErrors,
)
from thresher.auditing.disagreement import View
from thresher.auditing.duplicates import counts_of, repeated
from thresher.auditing.examination import Findings
from thresher.auditing.frames import FrameMaker, rows_of
from thresher.auditing.suspects import Group, Places, find_groups
from thresher.auditing.verdict import SUSPECT, Suspicions
from thresher.estimators import NoiseRate
from thresher.estimators.adversary import most_planted
from thresher.rendering.text import plain_number
from thresher.wording import count, some

MAX_NAMED = 3  # of anything, in the verdict
DISAGREES = "a label that disagrees with the other rows"
PROBLEMS = {
    FAR_OUT: "out of range",
    CODE: "probably means missing",
    STUCK: "the same in a run of rows",
    ODD: "values that do not go together",
    SWAPPED: "swapped with",
}


@dataclass(frozen=True, eq=False)
class Audit:
    """What is suspicious about the rows of a table.

    Parameters
    ----------
    findings : the model that was learned, and the trust in each row
    views : what models say about labels that they have not seen
    data : the data errors
    equal : (n,) equal rows have the same number
    suspicions : how suspicious each row is, by kind
    noise_rate : `estimate`, `low`, `high` and a `message`
    assumed : the noise rate that was given; None if it was estimated
    frames : makes data frames
    """

    findings: Findings
    views: tuple[View, ...]
    data: DataErrors
    equal: Places
    suspicions: Suspicions
    noise_rate: NoiseRate
    assumed: float | None
    frames: FrameMaker

    # -- data frames -------------------------------------------------------------------------

    @cached_property
    def rows(self) -> Any:
        """A data frame with one line per row of the table, in the order of the table.

        `id`, `label`, `predicted` (by the best model that has not seen the row), `trust` (how much
        the row deserves to count in learning), `suspicion` from 0 to 1, from ½ on a suspect, and
        its parts `steers`, `disagrees` and `data_error`, `repeats` (how often the row stands in the
        table), and the `reason`, which is empty unless the row is a suspect.
        """
        places = np.arange(self.findings.table.n_rows)
        return self.frames.of(self.columns(places), places)

    @cached_property
    def suspects(self) -> Any:
        """The rows that are suspects, the most suspicious first."""
        places = self.suspicions.suspects
        return self.frames.of(self.columns(places), places)

    def columns(self, places: Places) -> dict[str, Any]:
        """The columns of `rows`, for the rows at these positions."""
        kinds, findings = self.suspicions, self.findings
        return {
            "id": findings.table.ids[places],
            "label": findings.labels[places],
            "predicted": self.predicted[places],
            "trust": findings.classifier.row_weights_[places],
            "suspicion": kinds.suspicion[places],
            "steers": kinds.steers[places],
            "disagrees": kinds.disagrees[places],
            "data_error": kinds.data_error[places],
            "repeats": counts_of(self.equal)[places],
            "reason": [self.reason(int(place)) for place in places],
        }

    @cached_property
    def duplicates(self) -> Any:
        """A data frame with one line per group of equal rows: `rows`, `count` and `labels`."""
        groups, labels = repeated(self.equal), self.findings.labels
        return self.frames.of(
            {
                "rows": [group.tolist() for group in groups],
                "count": [group.size for group in groups],
                "labels": [labels[group].tolist() for group in groups],
            }
        )

    @cached_property
    def data_errors(self) -> Any:
        """A data frame with one line per error: `column`, `problem`, `rows`, `count`, `values`."""
        errors, table = self.data.errors, self.findings.table
        return self.frames.of(
            {
                "column": [self.column_name(error.column) for error in errors],
                "problem": [self.problem(error) for error in errors],
                "rows": [error.rows.tolist() for error in errors],
                "count": [error.rows.size for error in errors],
                "values": [
                    [float(table.X[row, error.column]) for row in error.rows]
                    if error.column >= 0
                    else []
                    for error in errors
                ],
            }
        )

    @cached_property
    def groups(self) -> Any:
        """A data frame with one line per group of suspects that stand out alike.

        `rows`, `count`, `label`, `features` (in which they stand out), and `times_as_far` (as other
        rows with that label).
        """
        names = self.findings.table.feature_names
        return self.frames.of(
            {
                "rows": [group.rows.tolist() for group in self.alike],
                "count": [group.rows.size for group in self.alike],
                "label": [group.label for group in self.alike],
                "features": [[names[c.feature] for c in g.contrasts] for g in self.alike],
                "times_as_far": [group.ratio for group in self.alike],
            }
        )

    @cached_property
    def alike(self) -> tuple[Group, ...]:
        """The groups of suspects that stand out in the same features."""
        classifier, table = self.findings.classifier, self.findings.table
        scaled, classes = classifier.scaling_.apply(table.X), classifier.classes_.tolist()
        suspects = self.suspicions.suspects
        return find_groups(table.X, scaled, self.findings.signs, classes, suspects)

    @property
    def distinct_suspects(self) -> Places:
        """The suspects, the most suspicious first; of equal rows only the first."""
        places = self.suspicions.suspects
        firsts = np.unique(self.equal[places], return_index=True)[1]
        return places[np.sort(firsts)]

    # -- words -------------------------------------------------------------------------------

    @property
    def best_view(self) -> View:
        """What the model says that predicts trusted rows best."""
        return min(self.views, key=lambda view: view.trusted_error)

    @property
    def predicted(self) -> NDArray[Any]:
        """(n,) the label that the best model predicts for each row without having seen it."""
        classes = self.findings.classifier.classes_
        return np.asarray(classes[(self.best_view.scores > 0).astype(int)])

    @property
    def constant_error(self) -> float:
        """The error of predicting the commoner label for every row."""
        share = float((self.findings.signs > 0).mean())
        return min(share, 1 - share)

    def reason(self, row: int) -> str:
        """Why a row is a suspect; empty for others."""
        if self.suspicions.suspicion[row] < SUSPECT:
            return ""
        n_copies = int((self.equal == self.equal[row]).sum())
        copies = f"; stands in the table {n_copies:,} times" if n_copies > 1 else ""
        kind = self.suspicions.kinds[row]
        if kind == "data_error":
            return self._reason_of_data(row) + copies
        said = "steers the model" if kind == "steers" else "label disagrees with other rows"
        return f"{said}{copies}"

    def _reason_of_data(self, row: int) -> str:
        error = self.data.errors[self.data.worst[row]]
        if error.column < 0:
            return self.problem(error)
        value = plain_number(float(self.findings.table.X[row, error.column]))
        return f"{self.column_name(error.column)} = {value}: {self.problem(error)}"

    def problem(self, error: ColumnError) -> str:
        """What is wrong, in words."""
        other = "" if error.other < 0 else f" {self.column_name(error.other)}"
        return f"{PROBLEMS[error.problem]}{other}"

    def column_name(self, column: int) -> str:
        """The name of a column; -1 stands for several."""
        return self.findings.table.feature_names[column] if column >= 0 else "(several)"

    @property
    def verdict(self) -> str:
        """What was found, in a few sentences; the important one first."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """The sentences of the verdict."""
        n_rows, n_named = self.findings.table.n_rows, self.suspicions.suspects.size
        said = []
        if self.assumed is not None and n_named > (n_most := most_planted(self.assumed, n_rows)):
            said.append(
                f"More stands out than noise_rate={self.assumed:g} allows for: "
                f"{count(n_named, 'row')}, not {n_most:,}."
            )
        said.append(self.about_rows)
        said.append(self._about_models())
        if self.assumed is None:
            said.append(self.about_noise_rate)
        return said

    @property
    def about_noise_rate(self) -> str:
        """The estimate, and how it goes together with the suspects."""
        return f"{self.noise_rate.message}{self._about_more}{self._about_data_errors}"

    @property
    def n_wrong_labels(self) -> int:
        """How many rows are suspects for their label, which steers the model or disagrees."""
        kinds = self.suspicions
        return int((np.maximum(kinds.steers, kinds.disagrees) >= SUSPECT).sum())

    @property
    def _about_more(self) -> str:
        """A sentence that follows the estimate, if there are more suspects than it allows for."""
        n_named, used = self.n_wrong_labels, self.findings.chosen.noise_rate
        if n_named <= self.noise_rate.high * self.findings.table.n_rows:
            return ""
        is_second = used > self.noise_rate.to_withstand
        how = f" (found by a second look, with noise_rate={used:g})" if is_second else ""
        named = f"The {count(n_named, 'row')} named for their labels"
        return f" {named} are more than that{how}: the estimate is too low here."

    @property
    def _about_data_errors(self) -> str:
        """A sentence that follows one on the noise rate, which does not count data errors."""
        n_rows = int((self.suspicions.data_error >= SUSPECT).sum())
        if not n_rows:
            return ""
        return f" This share is about labels; rows with a data error ({n_rows:,}) count separately."

    @property
    def about_rows(self) -> str:
        """How many rows are suspects, and for what."""
        kinds, n_rows = self.suspicions, self.findings.table.n_rows
        named = kinds.suspects
        if not (n_named := named.size):
            return f"None of the {n_rows:,} rows is a suspect."
        by_data = kinds.data_error[named] >= SUSPECT
        by_steering = ~by_data & (kinds.steers[named] >= kinds.disagrees[named])
        by_label = ~by_data & ~by_steering
        n_by = [
            (int(by_steering.sum()), "steers the model", "steer the model"),
            (int(by_label.sum()), f"has {DISAGREES}", f"have {DISAGREES}"),
            (int(by_data.sum()), "has a data error", "have a data error"),
        ]
        parts = [f"{n:,} {one if n == 1 else several}" for n, one, several in n_by if n]
        verb = "is a suspect" if n_named == 1 else "are suspects"
        return f"{n_named:,} of {n_rows:,} rows ({n_named / n_rows:.1%}) {verb}: {some(parts)}."

    def _about_models(self) -> str:
        view = self.best_view
        error, constant = f"{view.error:.1%}", f"{self.constant_error:.1%}"
        if not self.suspicions.can_tell:
            return (
                "Cannot tell whether labels are wrong: on rows it has not seen, the best model (a "
                f"{view.name}) has an error of {error}, and always predicting the commoner label "
                f"has {constant}; so many errors hide wrong labels."
            )
        return (
            f"On rows it has not seen, the best model (a {view.name}) has an error of "
            f"{error}; always predicting the commoner label has {constant}."
        )

    # -- what can be done with it ------------------------------------------------------------

    def clean(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The rows and labels without the suspects, of the same kinds as they were given."""
        return rows_of(X, self.is_kept), rows_of(y, self.is_kept)

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """(n,) which rows are no suspects."""
        return np.asarray(self.suspicions.suspicion < SUSPECT)

    def to_html(self, path: str | Path) -> None:
        """Write the report, one self-contained HTML file."""
        from thresher.auditing.html_report import save_report

        save_report(self, path)

    def __repr__(self) -> str:
        return f"Audit: {self.verdict}"
