"""Twenty files as people have them, each with the pipeline that somebody would write for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

N_LEARNED, N_NEW = 2000, 6000
LABEL, NOISE = "bought", 0.3
CITIES = {"Köln": 1.5, "Bonn": 0.0, "Ulm": -1.5, "Paris": 0.0, "Rom": 1.0}
GOOD, BAD = ["great", "lovely", "fast", "perfect"], ["broken", "slow", "rude", "awful"]
NEUTRAL = ["the", "parcel", "came", "on", "a", "day", "with", "its", "box", "and", "then", "home"]

Frame = pd.DataFrame
Make = Callable[[Frame], Frame]


def customers(n_rows: int, seed: int) -> Frame:
    """Customers, their mood, and what nobody knows about them."""
    rng = np.random.default_rng(seed)
    happy = rng.random(n_rows) < 0.5
    return pd.DataFrame(
        {
            "age": rng.normal(45, 12, n_rows).round(1),
            "income": np.exp(rng.normal(8, 0.5, n_rows)).round(2),
            "visits": rng.poisson(20, n_rows),
            "rate": rng.uniform(0, 40, n_rows).round(1),
            "city": rng.choice(list(CITIES), n_rows, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
            "shop": [f"shop {number}" for number in rng.zipf(1.6, n_rows).clip(max=80)],
            "member": rng.random(n_rows) < 0.4,
            "joined": pd.to_datetime(rng.integers(18262, 19762, n_rows), unit="D"),
            "review": [
                " ".join(rng.permutation([*rng.choice(words, 2), *rng.choice(NEUTRAL, 9)]))
                for words in np.where(happy[:, np.newaxis], GOOD, BAD)
            ],
            "happy": happy,
            "unknown": rng.logistic(0, 1, n_rows),
        }
    )


# What each column adds to the score of a customer; who has more than the median has bought.
PARTS: dict[str, Callable[[Frame], Any]] = {
    "age": lambda f: f["age"] / 12,
    "income": lambda f: 2 * np.log(f["income"]),
    "visits": lambda f: f["visits"] / 4.5,
    "rate": lambda f: f["rate"] / 12,
    "city": lambda f: f["city"].map(CITIES),
    "shop": lambda f: 1.5 * f["shop"].isin(["shop 1", "shop 3", "shop 5"]),
    "member": lambda f: 1.5 * f["member"],
    "joined": lambda f: -f["joined"].astype("int64") / 8.64e13 / 400,
    "review": lambda f: 3.0 * f["happy"],
}


def lacking(frame: Frame, columns: list[str], share: float, filler: object, seed: int) -> Frame:
    """The frame with this filler in a share of the cells."""
    rng, frame = np.random.default_rng(seed), frame.astype(dict.fromkeys(columns, object))
    for column in columns:
        frame.loc[rng.random(len(frame)) < share, column] = filler
    return frame


def by_hand(numbers: list[str], categories: list[str], text: str | None = None) -> Any:
    """The pipeline that an experienced user writes."""
    impute = SimpleImputer(strategy="median", add_indicator=True)
    fill = SimpleImputer(strategy="constant", fill_value="missing")
    encode = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
    parts: list[tuple[str, Any, Any]] = [
        ("numbers", make_pipeline(impute, StandardScaler()), numbers),
        ("categories", make_pipeline(fill, encode), categories),
    ]
    if text is not None:
        parts.append(("text", TfidfVectorizer(min_df=2), text))
    return make_pipeline(ColumnTransformer(parts), LogisticRegression(max_iter=5000))


@dataclass(frozen=True)
class Everyday:
    """A kind of file.

    Parameters
    ----------
    name : of the file
    make : the columns of a table as the file has them, from customers
    write : writes them
    numbers, categories, text : the columns that a pipeline written by hand uses
    clean : what its author does before, with the columns of `make`
    later : what differs in files that come later, for prediction
    is_piped : whether the file is given on standard input
    """

    name: str
    make: Make
    numbers: list[str]
    categories: list[str]
    text: str | None = None
    clean: Make = lambda frame: frame
    write: Callable[[Frame, Path], object] = lambda frame, path: frame.to_csv(path, index=False)
    later: Make = lambda frame: frame
    is_piped: bool = False

    def frame(self, n_rows: int, seed: int, *, is_new: bool = False) -> Frame:
        """The columns of a table as the file has them."""
        frame = self.make(customers(n_rows, seed))
        return self.later(frame) if is_new else frame

    def predicted_by_hand(self, learned: Frame, new: Frame) -> NDArray[Any]:
        """What the pipeline written by hand predicts."""
        pipeline = by_hand(self.numbers, self.categories, self.text)
        pipeline.fit(self.clean(learned), learned[LABEL])
        return pipeline.predict(self.clean(new))


@cache
def usual_score(columns: tuple[str, ...]) -> float:
    """The median score of many customers."""
    frame = customers(2000, seed=12345)
    return float(sum(PARTS[name](frame) for name in columns).median())


def has(*columns: str) -> Make:
    """These columns, and the label, which they decide with some noise."""

    def make(frame: Frame) -> Frame:
        score = sum(PARTS[name](frame) for name in columns)
        bought = score + NOISE * frame["unknown"] > usual_score(columns)
        return frame[list(columns)].assign(**{LABEL: np.where(bought, "yes", "no")})

    return make


def after(make: Callable[[Frame], Frame], change: Callable[[Frame], Frame]) -> Make:
    return lambda frame: change(make(frame))


def with_columns(**columns: Callable[[Frame], Any]) -> Make:
    """The frame with these columns, new or changed, before the label."""

    def change(frame: Frame) -> Frame:
        changed = frame.assign(**columns)
        return changed[[*(name for name in changed if name != LABEL), LABEL]]

    return change


def as_numbers(*columns: str) -> Make:
    return lambda frame: frame.assign(
        **{name: pd.to_numeric(frame[name], errors="coerce") for name in columns}
    )


def days(frame: Frame) -> Any:
    return (pd.to_datetime(frame["joined"]) - pd.Timestamp("2020-01-01")).dt.days


def write_european(frame: Frame, path: Path) -> None:
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8")


def grouped(values: Any) -> list[str]:
    return [f"{value:,.2f}" for value in values]


def ids(frame: Frame) -> list[str]:
    rng = np.random.default_rng(len(frame))
    return [f"{number:012x}" for number in rng.integers(0, 2**40, len(frame))]


def write_parquet(frame: Frame, path: Path) -> None:
    frame.astype({"city": "category"}).to_parquet(path, index=False)


def rare_buyers(frame: Frame) -> Frame:
    """Only a tenth of the customers bought."""
    bought, rest = frame[frame[LABEL] == "yes"], frame[frame[LABEL] == "no"]
    few = bought.iloc[: max(len(rest) // 9, 1)]
    return pd.concat([few, rest]).sample(frac=1, random_state=0).reset_index(drop=True)


NUMBERS = ["age", "income", "visits", "rate"]
MIXED = has(*NUMBERS, "city", "member")
FILES = [
    Everyday(
        "missing-numbers.csv",
        after(has(*NUMBERS), lambda f: lacking(f, ["age", "visits"], 0.15, None, 1)),
        NUMBERS,
        [],
        clean=as_numbers(*NUMBERS),
    ),
    Everyday(
        "missing-categories.csv",
        after(MIXED, lambda f: lacking(f, ["city"], 0.2, None, 2)),
        [*NUMBERS, "member"],
        ["city"],
        clean=lambda f: f.assign(city=f["city"].fillna("missing")),
    ),
    Everyday(
        "stray-texts.csv",
        after(has(*NUMBERS), lambda f: lacking(f, ["visits"], 0.02, "unknown", 3)),
        NUMBERS,
        [],
        clean=as_numbers(*NUMBERS),
    ),
    Everyday(
        "semicolons-and-decimal-commas.csv",
        after(MIXED, lambda f: lacking(f, ["age"], 0.05, None, 4)),
        [*NUMBERS, "member"],
        ["city"],
        clean=as_numbers(*NUMBERS),
        write=write_european,
    ),
    Everyday(
        "latin-1.csv",
        MIXED,
        [*NUMBERS, "member"],
        ["city"],
        write=lambda f, path: f.to_csv(path, index=False, encoding="latin-1"),
    ),
    Everyday("gzipped.csv.gz", MIXED, [*NUMBERS, "member"], ["city"]),
    Everyday("standard-input.csv", MIXED, [*NUMBERS, "member"], ["city"], is_piped=True),
    Everyday(
        "categories-and-nulls.parquet",
        after(
            has(*NUMBERS, "city", "member", "joined"),
            lambda f: lacking(f, ["city"], 0.1, None, 5).assign(
                age=f["age"].where(f["visits"] > 14)
            ),
        ),
        [*NUMBERS, "member", "joined"],
        ["city"],
        clean=lambda f: f.assign(joined=days, city=f["city"].fillna("missing")),
        write=write_parquet,
    ),
    Everyday(
        "dates.csv",
        after(
            has(*NUMBERS, "joined"),
            with_columns(joined=lambda f: f["joined"].dt.strftime("%d.%m.%Y")),
        ),
        [*NUMBERS, "joined"],
        [],
        clean=lambda f: f.assign(
            joined=pd.to_datetime(f["joined"], format="%d.%m.%Y").astype("int64") / 8.64e13
        ),
    ),
    Everyday(
        "ids.csv",
        after(
            MIXED,
            with_columns(customer_id=lambda f: np.arange(len(f))[::-1] + 10_000, token=ids),
        ),
        [*NUMBERS, "member"],
        ["city"],
    ),
    Everyday("sentences.csv", has("age", "income", "review"), ["age", "income"], [], "review"),
    Everyday("rare-categories.csv", has(*NUMBERS, "shop"), NUMBERS, ["shop"]),
    Everyday(
        "unseen-categories.csv",
        MIXED,
        [*NUMBERS, "member"],
        ["city"],
        later=lambda f: lacking(f, ["city"], 0.1, "Oslo", 6),
    ),
    Everyday(
        "yes-and-no.csv",
        after(
            MIXED,
            with_columns(member=lambda f: np.where(f["member"], "Yes", "No")),
        ),
        NUMBERS,
        ["city", "member"],
    ),
    Everyday(
        "thousands-and-percent.csv",
        after(
            MIXED,
            with_columns(
                income=lambda f: grouped(f["income"]), rate=lambda f: [f"{r} %" for r in f["rate"]]
            ),
        ),
        [*NUMBERS, "member"],
        ["city"],
        clean=lambda f: f.assign(
            income=f["income"].str.replace(",", "").astype(float),
            rate=f["rate"].str.rstrip(" %").astype(float),
        ),
    ),
    Everyday(
        "quoted-newlines.csv",
        after(
            MIXED,
            with_columns(city=lambda f: [f'{city}\nnear "{city[0]}"' for city in f["city"]]),
        ),
        [*NUMBERS, "member"],
        ["city"],
    ),
    Everyday(
        "byte-order-mark.csv",
        MIXED,
        [*NUMBERS, "member"],
        ["city"],
        write=lambda f, path: f.to_csv(
            path, index=False, encoding="utf-8-sig", lineterminator="\r\n"
        ),
    ),
    Everyday(
        "empty-columns.csv",
        after(MIXED, with_columns(fax=lambda _: None, country=lambda _: "DE")),
        [*NUMBERS, "member"],
        ["city"],
    ),
    Everyday(
        "duplicate-rows.csv",
        after(MIXED, lambda f: pd.concat([f, f.iloc[: len(f) // 4]])),
        [*NUMBERS, "member"],
        ["city"],
    ),
    Everyday("imbalance.csv", after(MIXED, rare_buyers), [*NUMBERS, "member"], ["city"]),
    Everyday(
        "pipes-and-an-index.txt",
        MIXED,
        [*NUMBERS, "member"],
        ["city"],
        write=lambda f, path: f.to_csv(path, sep="|"),
    ),
    Everyday(
        "other-columns.csv",
        MIXED,
        [*NUMBERS, "member"],
        ["city"],
        later=lambda f: f[f.columns[::-1]].assign(extra="x"),
    ),
]
