"""Choices of sparsity and noise rate, compared on held-out rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.checks import Settings, check_sparsity, check_two_classes, class_weights
from thresher.estimators.cross_validation import fit_to_all, fit_to_folds, warn_of_uncertified
from thresher.estimators.disputes import TrainingTable
from thresher.estimators.final_fit import Judgment, PenalizedChoice, PenalizedFits
from thresher.estimators.folds import restricted
from thresher.estimators.samples import sample_of_rows
from thresher.estimators.trust import balanced_error, keep_every_class, weighted_error
from thresher.validation import FloatArray

Choice = tuple[int | str, float]  # sparsity and noise rate


class Comparison:
    """Every choice, compared on held-out rows by the trust of the widest one, if that helps.

    Parameters
    ----------
    make : an unfitted `HalfspaceClassifier` for a sparsity and the noise rate left in the table
    choices : to compare
    table : with folds to compare the choices on. If there is one choice and the table is large, a
        sample of their rows is looked at
    final_fit : "auto", "hinge" or "penalized"
    fitted : the classifier of the only choice after its phases on all rows, if there is one already

    Attributes
    ----------
    trust : (n,) in each row, by the widest choice
    scores : (n,) of the penalized fits to rows of that trust when a row was held out; NaN: it was
        not
    """

    def __init__(
        self,
        make: Callable[[int | str, float], Any],
        choices: Sequence[Choice],
        table: TrainingTable,
        final_fit: str,
        fitted: Any = None,
    ) -> None:
        self._make, self._choices, self._rate_left = make, choices, table.noise_rate_left
        self._rows, self._labels = table.rows, table.labels
        self._groups = None if table.copies is None else table.copies.groups
        self._with_halfspaces = final_fit != "penalized"
        self._errors: dict[tuple[Choice, str], Sequence[float]] = {}
        self._scores: dict[Choice, FloatArray] = {}  # of halfspaces, for held-out rows
        widest = max(choices, key=lambda choice: (check_sparsity(choice[0]), choice[1]))
        self._fitted = {widest: fitted or self._fitted_to_all(widest)}
        self._seen = self._rows_to_compare_on(widest)
        self._folds = restricted(table.folds, self._seen, len(table.labels))
        self._judgment: Judgment | None = None
        self.trust = self._judge = self._fitted[widest].row_weights_
        self.scores = np.full(len(table.labels), np.nan)
        if final_fit != "hinge":
            fits = self._penalized_fits(self._fitted[widest])
            self._judgment = judged = fits.judge(table)
            self.trust, self.scores, self._judge = judged.trust, judged.scores, judged.weights
            self._penalized = {widest: judged.penalized}

    def _rows_to_compare_on(self, choice: Choice) -> NDArray[np.intp]:
        """Every row; of a large table, a sample will do for the kind of the final model."""
        if len(self._choices) > 1:
            return np.arange(len(self._labels))
        fitted, (_, signs) = self._fitted[choice], check_two_classes(self._labels)
        return sample_of_rows(signs, self._rows, fitted.columns_.size, Settings.of(fitted).seed)

    def fit_halfspaces(self, n_jobs: int | None) -> Iterator[None]:
        """Fit the halfspaces of every choice to the folds, one at each step."""
        if not self._with_halfspaces:
            return
        pairs = list(product(self._choices, self._folds))
        if self._is_settled():
            yield from (None for _ in pairs)
            return
        # A generator: a list would keep every fitted estimator in memory.
        fits = ((self._unfitted(choice), fold) for choice, fold in pairs)
        results = []
        for result in fit_to_folds(fits, self._rows, self._labels, self._judge, n_jobs):
            results.append(result)
            yield
        warn_of_uncertified(results)
        for i, choice in enumerate(self._choices):
            own = results[i * len(self._folds) : (i + 1) * len(self._folds)]
            self._errors[choice, "hinge"] = [result.error for result in own]
            self._scores[choice] = scores = np.full(len(self._labels), np.nan)
            for fold, result in zip(self._folds, own):
                scores[fold.test] = result.scores

    def _is_settled(self) -> bool:
        """Whether the only halfspace can be compared with a penalized fit without folds.

        Its error on the rows that it was fitted to is smaller than on others, but hardly by more
        than learning theory allows for. So it can be clearly better, or clearly worse. Of a large
        table it must be clearly better, since fits to folds take long.
        """
        if self._judgment is None or len(self._choices) > 1:
            return False
        (choice,) = self._choices
        fitted, of_others = self._fitted[choice], self._judgment.penalized.held_out.error
        scores = fitted._scores(self._rows)
        wrong = fitted._labels(scores) != self._labels
        costs = class_weights(fitted.class_weight, self._labels)
        error = weighted_error(wrong, self._labels, self._judge, costs)
        allowed = error + _optimism(error, fitted, len(self._labels))
        if allowed < of_others:
            self._errors[choice, "hinge"], self._scores[choice] = [allowed], scores
        is_large = self._seen.size < len(self._labels)
        return is_large or allowed < of_others or error >= of_others

    def path(self) -> tuple["PathPoint", ...]:
        """The error of each choice, with the final model that suits it best."""
        if self._judgment is not None:
            for choice in self._choices:
                self._errors[choice, "penalized"] = self._penalized_fit(choice).held_out.errors
        points = [
            PathPoint.of(choice, errors, kind, self._balanced_error(choice, kind))
            for (choice, kind), errors in self._errors.items()
        ]
        best: dict[Choice, PathPoint] = {}
        for point in sorted(points, key=lambda point: point.error):
            best.setdefault((point.sparsity, point.noise_rate), point)
        return tuple(best[choice] for choice in self._choices)

    def _balanced_error(self, choice: Choice, kind: str) -> float:
        scores = (
            self._scores[choice] if kind == "hinge" else self._penalized_fit(choice).held_out.scores
        )
        _, signs = check_two_classes(self._labels)
        return balanced_error(scores, signs, self._judge)

    def fit_best(self, chosen: "PathPoint") -> Any:
        """The classifier of the choice, fitted to all rows, with its final model."""
        choice = (chosen.sparsity, chosen.noise_rate)
        best = self._fit_to_all(choice)
        if self._judgment is not None:
            best.row_weights_ = self._trust_of(best)
            best.evidence_ = self._judgment.evidence
        if chosen.final_fit == "penalized":
            chosen_fit = self._penalized_fit(choice)
            fit = chosen_fit.fit()
            best._take_penalized(fit)
            best._calibrate(chosen_fit.held_out.scores / fit.length, self._labels)
        else:
            best._calibrate(self._scores[choice], self._labels)
        best.noise_rate_ = chosen.noise_rate  # of the whole table
        return best

    def _fit_to_all(self, choice: Choice) -> Any:
        if choice not in self._fitted:
            self._fitted[choice] = self._fitted_to_all(choice)
        return self._fitted[choice]

    def _fitted_to_all(self, choice: Choice) -> Any:
        return fit_to_all(self._unfitted(choice), self._rows, self._labels)

    def _unfitted(self, choice: Choice) -> Any:
        sparsity, noise_rate = choice
        return self._make(sparsity, self._rate_left(noise_rate))

    def _penalized_fits(self, fitted: Any) -> PenalizedFits:
        table = self._rows, self._labels, self._folds
        return PenalizedFits(fitted, *table, self._seen, self._groups)

    def _penalized_fit(self, choice: Choice) -> PenalizedChoice:
        if choice not in self._penalized:
            fitted = self._fit_to_all(choice)
            uses_trust = self._judge is self.trust
            weights = self._trust_of(fitted) if uses_trust else self._judge
            fits = self._penalized_fits(fitted)
            self._penalized[choice] = fits.choose(weights, self._judge)
        return self._penalized[choice]

    def _trust_of(self, fitted: Any) -> FloatArray:
        """The trust of the classifier; ones if nothing stands out."""
        if self._judgment is None or not self._judgment.evidence.is_clear:
            return self.trust
        agreed = fitted.row_weights_ * self._judgment.agreement
        return keep_every_class(agreed, self._labels)


@dataclass(frozen=True)
class PathPoint:
    """The cross-validated error of one choice of parameters.

    Parameters
    ----------
    sparsity, noise_rate : the choice
    error : share of the held-out trust on wrongly classified rows, averaged over the folds. Use it
        to compare choices: the error on new rows is larger, because rows that are hard to classify
        have little trust. If trust does not help (`evidence_.helps`), all rows count alike. If
        there is one choice and its halfspace is clearly better than a penalized fit, the error on
        the rows that it was fitted to and an allowance for that
    standard_error : of that average; 0 if there is a single fold
    final_fit : "hinge" or "penalized", the final model with that error: the better one
    balanced_error : the mean of the errors of the two classes, over all held-out rows

    Examples
    --------
    >>> from thresher import HalfspaceClassifierCV
    >>> rows = np.random.default_rng(0).standard_normal((300, 4))
    >>> labels = rows[:, 0] + rows[:, 1] > 0
    >>> for p in HalfspaceClassifierCV((1, 2), cv=2, random_state=0).fit(rows, labels).path_:
    ...     print(f"{p.sparsity} features: {p.error:.2f} ± {p.standard_error:.2f}")
    1 features: 0.24 ± 0.00
    2 features: 0.01 ± 0.00
    """

    sparsity: int | str
    noise_rate: float
    error: float
    standard_error: float
    final_fit: str = "hinge"
    balanced_error: float = float("nan")

    @classmethod
    def of(
        cls,
        choice: Choice,
        errors: Sequence[float],
        final_fit: str,
        balanced_error: float = float("nan"),
    ) -> Self:
        """Mean and standard error over the folds.

        Examples
        --------
        >>> point = PathPoint.of((5, 0.1), [0.25, 0.75], "hinge")
        >>> point.error, point.standard_error
        (0.5, 0.25)
        """
        spread = np.std(errors, ddof=min(1, len(errors) - 1)) / np.sqrt(len(errors))
        return cls(*choice, float(np.mean(errors)), float(spread), final_fit, balanced_error)


def _optimism(error: float, fitted: Any, n_rows: int) -> float:
    """By how much the error on new rows may exceed that on the rows that were fitted to.

    Of the order that learning theory proves, without its constants.
    """
    n_columns = fitted.columns_.size
    n_features = min(Settings.of(fitted).sparsity, n_columns)
    share = n_features * (1 + float(np.log(n_columns / n_features))) / n_rows
    return float(2 * share + np.sqrt(2 * share * error))


def choose(path: Sequence[PathPoint]) -> PathPoint:
    """The sparsest choice within one standard error of the best, then the largest noise rate.

    Examples
    --------
    >>> path = [PathPoint(1, 0.0, 0.30, 0.01), PathPoint(2, 0.0, 0.11, 0.01),
    ...         PathPoint(9, 0.0, 0.10, 0.02)]
    >>> choose(path).sparsity
    2
    """
    best = min(path, key=lambda point: point.error)
    limit = best.error + best.standard_error
    good = [point for point in path if point.error <= limit]
    return min(good, key=lambda point: (_size(point.sparsity), -point.noise_rate, point.error))


def _size(sparsity: int | str) -> float:
    """For sorting: "auto" stands for any number of features."""
    return np.inf if isinstance(sparsity, str) else sparsity
