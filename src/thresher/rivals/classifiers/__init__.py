"""Classifiers for labeled tables, with scikit-learn's interface: what a user would try instead.

linear.py     what they share: checks, robust scaling of the columns, a linear decision rule
tuned.py      L1 logistic regression and a linear SVM, with C tuned by cross-validation
trimmed.py    means that drop the extremes of each column: of y·x, and of gradients
refitting.py  a base classifier, refitted on the rows that are left: trimmed loss, norm filter,
              and Sever, which drops the rows whose gradients stand out

To add a classifier, touch three files:

1. its class, a `LinearRival`, in a module of this folder;
2. this file: its import, its name in `__all__`, and a row in `CLASSIFIERS`, which makes it a method
   of the arena;
3. tests/rivals/test_classifiers.py: an example, where it holds and where it breaks. The other tests
   there, and those of the methods, run for every classifier.

Its page of the reference is generated.

Its parameters have the names of the others' (`sparsity`, `noise_rate`, `standardize`,
`fit_intercept`, `random_state`): `make_classifier` sets those that it has.
"""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from thresher.rivals.worlds import CLEAN, CLUMP, DENSE, FLIPS, World

if TYPE_CHECKING:
    from thresher.rivals.classifiers.refitting import IterativeTrimmedLoss, NormFilter, Sever
    from thresher.rivals.classifiers.trimmed import TrimmedHardThresholding, TrimmedMean
    from thresher.rivals.classifiers.tuned import LinearSVMCV, SparseLogisticRegressionCV

__all__ = [
    "IterativeTrimmedLoss",
    "LinearSVMCV",
    "NormFilter",
    "Sever",
    "SparseLogisticRegressionCV",
    "TrimmedHardThresholding",
    "TrimmedMean",
]


@dataclass(frozen=True)
class TableRival:
    """A classifier as sweeps and figures know it.

    Parameters
    ----------
    classifier : its module in this folder, and its class
    title : in tables and figures
    claim : what it withstands, in a few words
    world : where that is tested
    base : the row whose classifier is its `estimator`; None: its own default
    needs_sparsity : whether it uses the sparsity
    margin : its `noise_rate` over the task's when it learns from an oracle, where chance may plant
        more rows
    """

    classifier: str
    title: str
    claim: str
    world: World
    base: str | None = None
    needs_sparsity: bool = False
    margin: float = 1.5


CLASSIFIERS = {
    "trimmed-mean": TableRival(
        "trimmed.TrimmedMean",
        "Trimmed mean",
        "few planted rows with extreme entries",
        needs_sparsity=True,
        world=CLUMP.at_most(0.065, beats="averaging-of-all-rows"),
    ),
    "trimmed-hard-thresholding": TableRival(
        "trimmed.TrimmedHardThresholding",
        "Trimmed hard thresholding (Liu et al. 2019)",
        "a fraction of planted rows of about 1/(√s·log(nd))",
        needs_sparsity=True,
        world=CLUMP.at_most(0.034, beats="averaging-of-all-rows"),
    ),
    "trimmed-loss": TableRival(
        "refitting.IterativeTrimmedLoss",
        "Iterative trimmed loss (Shen and Sanghavi 2019)",
        "planted rows with a large loss in the first fit",
        world=FLIPS.at_most(0.118, beats="linear-svm"),
    ),
    "sever": TableRival(
        "refitting.Sever",
        "Sever (Diakonikolas et al. 2019)",
        "planted rows whose gradients change their covariance",
        margin=1.0,  # its removal factor is the margin
        world=CLUMP.at_most(0.084, beats="l1-logistic"),
    ),
    "l1-logistic": TableRival(
        "tuned.SparseLogisticRegressionCV",
        "L1 logistic regression",
        "no planted rows",
        world=CLEAN.at_most(0.028, beats="averaging"),
    ),
    "linear-svm": TableRival(
        "tuned.LinearSVMCV",
        "Linear SVM",
        "no planted rows",
        world=DENSE.at_most(0.012, beats="averaging"),
    ),
    "norm-filter-l1-logistic": TableRival(
        "refitting.NormFilter",
        "Norm filter, L1 logistic regression",
        "planted rows that are long",
        world=CLUMP.at_most(0.03, beats="l1-logistic"),
    ),
    "norm-filter-linear-svm": TableRival(
        "refitting.NormFilter",
        "Norm filter, linear SVM",
        "planted rows that are long",
        base="linear-svm",
        world=CLUMP.at_most(0.112, beats="linear-svm"),
    ),
}


def __getattr__(name: str) -> Any:
    # On demand, because importing scikit-learn takes longer than starting a worker of the arena.
    for row in CLASSIFIERS.values():
        if row.classifier.endswith(f".{name}"):
            return resolve_name(f"{__name__}.{row.classifier}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def make_classifier(name: str, **parameters: Any) -> Any:
    """The unfitted classifier of a row in `CLASSIFIERS`, with those of the parameters that it has.

    Examples
    --------
    >>> make_classifier("trimmed-mean", sparsity=3, noise_rate=0.1, random_state=0)
    TrimmedMean(noise_rate=0.1, sparsity=3)
    >>> make_classifier("l1-logistic", sparsity=3, noise_rate=0.1, random_state=0)
    SparseLogisticRegressionCV(random_state=0)
    """
    rival = CLASSIFIERS[name]
    classifier = resolve_name(f"{__name__}.{rival.classifier}")()
    if rival.base is not None:  # on rows that are already scaled
        base = make_classifier(rival.base, **{**parameters, "standardize": False})
        parameters = {**parameters, "estimator": base}
    known = classifier.get_params(deep=False)
    return classifier.set_params(**{k: v for k, v in parameters.items() if k in known})
