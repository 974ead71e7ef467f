"""Algorithm 1: the engine, its schedules, and the drivers that connect it to the world."""

from thresher.learning.active import ActiveLearner, Question, learn_actively
from thresher.learning.algorithm import LabelRequest, Schedule, learn
from thresher.learning.constants import PaperConstants
from thresher.learning.history import PhaseOutcome
from thresher.learning.passive import learn_passively
from thresher.learning.phase import Cost, Phase
from thresher.learning.planning import Plan, plan
from thresher.learning.practical import PracticalSchedule
from thresher.learning.tables import learn_from_table
from thresher.learning.task import Task
from thresher.learning.theory import TheorySchedule

__all__ = [
    "ActiveLearner",
    "Cost",
    "LabelRequest",
    "PaperConstants",
    "Phase",
    "PhaseOutcome",
    "Plan",
    "PracticalSchedule",
    "Question",
    "Schedule",
    "Task",
    "TheorySchedule",
    "learn",
    "learn_actively",
    "learn_from_table",
    "learn_passively",
    "plan",
]
