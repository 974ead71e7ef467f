"""Algorithm 1: the engine, its schedules, and the drivers that connect it to the world."""

from thresher.learning.active import ActiveLearner
from thresher.learning.actively import learn_actively
from thresher.learning.algorithm import Schedule, complete, learn, with_rows
from thresher.learning.constants import PaperConstants
from thresher.learning.history import PhaseOutcome
from thresher.learning.passive import learn_from_examples, learn_from_table, learn_passively
from thresher.learning.planning import Plan, plan
from thresher.learning.practical import PracticalSchedule
from thresher.learning.task import Cost, Phase, Task
from thresher.learning.theory import TheorySchedule

__all__ = [
    "ActiveLearner",
    "Cost",
    "PaperConstants",
    "Phase",
    "PhaseOutcome",
    "Plan",
    "PracticalSchedule",
    "Schedule",
    "Task",
    "TheorySchedule",
    "complete",
    "learn",
    "learn_actively",
    "learn_from_examples",
    "learn_from_table",
    "learn_passively",
    "plan",
    "with_rows",
]
