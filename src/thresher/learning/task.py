"""What is asked: of the learner (`Task`), of one phase (`Phase`), and at what price (`Cost`)."""

from dataclasses import dataclass, fields

from thresher.validation import check_count, check_noise_rate, check_number


@dataclass(frozen=True, kw_only=True)
class Task:
    """The learner's problem: everything a learner knows beforehand.

    Parameters
    ----------
    n_features : length of a row (d)
    sparsity : maximum number of features of the halfspace (s), clipped to `n_features`
    noise_rate : share of dirty draws to tolerate (η), below 0.5
    target_error : error at which learning stops (ε); None leaves it to the schedule
    label_budget : maximum number of distinct labels; None leaves it to the schedule
    n_phases_before : phases that a smaller budget has paid for; if there are any, the larger one
        pays for at least one more

    Examples
    --------
    >>> Task(n_features=5, sparsity=10, noise_rate=0.05).sparsity
    5
    """

    n_features: int
    sparsity: int
    noise_rate: float
    target_error: float | None = None
    label_budget: int | None = None
    n_phases_before: int = 0

    def __post_init__(self) -> None:
        n_features = check_count(self.n_features, "n_features")
        sparsity = min(check_count(self.sparsity, "sparsity"), n_features)
        noise_rate = check_noise_rate(self.noise_rate)
        target_error, label_budget = self.target_error, self.label_budget
        if target_error is not None:
            target_error = check_number(target_error, "target_error")
            if not 0 < target_error < 1:
                raise ValueError(f"target_error must lie between 0 and 1, got {target_error}")
        if label_budget is not None:
            label_budget = check_count(label_budget, "label_budget")
        before = check_count(self.n_phases_before, "n_phases_before", minimum=0)
        checked = (n_features, sparsity, noise_rate, target_error, label_budget, before)
        for item, value in zip(fields(self), checked, strict=True):
            object.__setattr__(self, item.name, value)


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Everything a schedule fixes for one round of Algorithm 1.

    Parameters
    ----------
    index : number of the phase, from 1 (k)
    band_width : how far from the current boundary rows are drawn (b_k)
    l2_radius : how far the next halfspace can move, in l2 norm (r_k)
    l1_radius : how far the next halfspace can move, in l1 norm (ρ_k)
    removal_l1_radius : l1 radius of the directions in which outlier removal looks for variance;
        also ρ_k in the paper
    hinge_scale : the margin below which a row costs hinge loss (τ_k)
    loss_tolerance : how far above its minimum the hinge loss can stay (κ)
    outlier_fraction : the largest share of row weight to remove (ξ_k)
    max_variance : the largest variance of the kept weight, C(b_k² + r_k²) with C = 2·C2; None asks
        for the least variance that can be reached, and infinity keeps the whole weight of every row
    variance_tolerance : by how much the proven variance may exceed the least one, relatively, in a
        certified phase without `max_variance`
    max_abs_entry : rows with a larger absolute entry are pruned (ν_k); none if infinite
    n_unlabeled : how many rows of the band to collect (n_k)
    max_draws : the largest number of draws for that (N_k)
    n_queries : how many of them to draw, with replacement, for labeling (m_k); None uses every row
        with its weight
    failure_probability : this phase's share of the failure probability (δ_k); None if the schedule
        promises nothing
    label_aware : whether labels come first and help to judge the rows; never in the paper
    trimmed_share : the share of row weight, of the largest losses, left out of the hinge loss
    positive_weight : what a positive row costs in the hinge loss, relative to a negative one; 1 in
        the paper
    dirty_share : the largest expected share of planted rows in the band
    n_candidates : features that a posterior of the halfspace looks at; 0, as in the paper, for none
    question_share : the share of the pool's weight, of the rows closest to the boundary, from which
        questions are drawn; 1 in the paper
    questions_per_round : how many of them before the boundary is estimated again

    Examples
    --------
    >>> from thresher.learning import TheorySchedule
    >>> phase = TheorySchedule(sparsity=8, n_features=100, target_error=0.01).phase(2)
    >>> phase.l2_radius, phase.l1_radius
    (0.03125, 0.125)
    """

    index: int
    band_width: float
    l2_radius: float
    l1_radius: float
    removal_l1_radius: float
    hinge_scale: float
    loss_tolerance: float
    outlier_fraction: float
    max_variance: float | None
    variance_tolerance: float
    max_abs_entry: float
    n_unlabeled: int
    max_draws: int
    n_queries: int | None
    failure_probability: float | None
    label_aware: bool
    trimmed_share: float
    positive_weight: float = 1.0
    dirty_share: float = 0.0
    n_candidates: int = 0
    question_share: float = 1.0
    questions_per_round: int = 1


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a schedule spends over all its phases.

    Parameters
    ----------
    phases : number of phases (k0)
    draws : number of instances drawn, including rejected ones (N, the sum of N_k)
    labels : number of labels asked for (m, the sum of m_k)
    """

    phases: int
    draws: int
    labels: int
