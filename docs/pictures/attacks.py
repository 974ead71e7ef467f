"""The README's picture: error under six attacks, Thresher beside L1 logistic regression.

    python docs/pictures/attacks.py            # runs everything, writes records and picture
    python docs/pictures/attacks.py --redraw   # draws the picture from the records

500 features of which 10 matter, Gaussian rows, 5 % of the draws owned by the adversary, 1,500
labels. Thresher chooses its rows; logistic regression gets the first 1,500 and the first 15,000
draws with their labels, and picks its penalty by cross-validation. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegressionCV

from thresher import learn_actively
from thresher.geometry import Band
from thresher.oracles import DrawRequest
from thresher.simulate import (
    Adversary,
    Gaussian,
    InBandMass,
    LabelFlip,
    LinfHijack,
    MaliciousOracle,
    MovedIntoBand,
    OnSupportTilt,
    random_target,
)

HERE = Path(__file__).parent
N_FEATURES, SPARSITY, NOISE_RATE, N_LABELS, SEEDS = 500, 10, 0.05, 1500, range(5)
ATTACKS: dict[str, Callable[[], Adversary]] = {
    "random flips": LabelFlip,
    "tilt, c = 4": lambda: OnSupportTilt(4.0),
    "tilt, c = 2, in the band": lambda: MovedIntoBand(OnSupportTilt(2.0)),
    "ℓ∞ hijack": LinfHijack,
    "in-band mass, c = 2": lambda: InBandMass(2.0),
    "in-band mass, c = 3": lambda: InBandMass(3.0),
}
LEARNERS = {
    "Thresher, 1,500 labels": ("o", "#0072B2"),
    "L1 logistic regression, 1,500 labels": ("s", "#E69F00"),
    "L1 logistic regression, 15,000 labels": ("^", "#CC79A7"),
}


def oracle(attack: str, seed: int) -> MaliciousOracle:
    return MaliciousOracle(
        distribution=Gaussian(N_FEATURES),
        target=random_target(N_FEATURES, SPARSITY, 300 + seed),
        noise_rate=NOISE_RATE,
        adversary=ATTACKS[attack](),
        random_state=seed,
    )


def thresher_error(attack: str, seed: int) -> float:
    world = oracle(attack, seed)
    learner = learn_actively(
        world,
        world,
        sparsity=SPARSITY,
        noise_rate=NOISE_RATE,
        label_budget=N_LABELS,
        random_state=seed,
    )
    return world.error_rate(learner.halfspace_)


def logistic_error(attack: str, seed: int, n_labels: int) -> float:
    world = oracle(attack, seed)
    everything = Band(normal=np.zeros(N_FEATURES), width=np.inf)
    draw = world.draw(DrawRequest(n_rows=n_labels, band=everything))
    model = LogisticRegressionCV(
        Cs=[0.01, 0.03, 0.1, 0.3],
        l1_ratios=(1.0,),
        solver="liblinear",
        cv=3,
        scoring="accuracy",
        use_legacy_attributes=False,
    )
    model.fit(draw.X, world.reveal(draw.ids))
    return world.error_rate(model.coef_.ravel())


def run() -> list[dict[str, object]]:
    learners: dict[str, Callable[[str, int], float]] = {
        "Thresher, 1,500 labels": thresher_error,
        "L1 logistic regression, 1,500 labels": lambda a, s: logistic_error(a, s, 1500),
        "L1 logistic regression, 15,000 labels": lambda a, s: logistic_error(a, s, 15000),
    }
    records = []
    for attack in ATTACKS:
        for name, error in learners.items():
            for seed in SEEDS:
                value = error(attack, seed)
                records.append({"attack": attack, "learner": name, "seed": seed, "error": value})
            print(attack, "|", name, "|", [round(r["error"], 4) for r in records[-len(SEEDS) :]])
    return records


def draw(records: list[dict[str, object]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for offset, (name, (marker, color)) in zip((0.2, 0.0, -0.2), LEARNERS.items()):
        for row, attack in enumerate(reversed(ATTACKS)):
            errors = [r["error"] for r in records if (r["attack"], r["learner"]) == (attack, name)]
            axes.plot(errors, [row + offset] * len(errors), color=color, linewidth=1)
            axes.plot(
                np.median(errors),
                row + offset,
                marker,
                color=color,
                label=name if row == 0 else None,
            )
    floor = NOISE_RATE / (2 * (1 - NOISE_RATE))
    axes.axvline(floor, color="0.4", linestyle=":", linewidth=1.2)
    axes.text(floor * 1.03, len(ATTACKS) - 0.45, "unavoidable in the worst case", color="0.3")
    axes.set_yticks(range(len(ATTACKS)), list(reversed(ATTACKS)))
    axes.set(xscale="log", xlabel="error on clean rows (median and range of five runs)")
    axes.set_ylim(-0.6, len(ATTACKS) - 0.1)
    ticks = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(HERE / "attacks.png", dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redraw", action="store_true", help="draw from the records only")
    file = HERE / "attacks.json"
    if not parser.parse_args().redraw:
        file.write_text(json.dumps(run(), indent=1), encoding="utf8")
    draw(json.loads(file.read_text(encoding="utf8")))


if __name__ == "__main__":
    main()
