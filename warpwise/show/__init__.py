"""Drawing only: pictures of launches, devices and code, and tables.

Nothing here computes what it shows.
"""

from .banks import BankMap, show_banks
from .chunks import show_chunks
from .flow import Flow, show_flow
from .format_bits import FormatPicture, show_format
from .fragments import show_fragments
from .gantt import Gantt, show_schedule
from .holdings import show_holdings
from .ladder import LadderPicture, compare
from .lanes import Lanes, show_lanes
from .machine_code import show_sass
from .occupancy import show_occupancy
from .overlap import OverlapPicture, show_overlap
from .pairs import show_pairs
from .picture import Picture, show_threads
from .plan import PlanPicture, show_plan, turn_plan
from .planner_page import TrainingRun, planner_page
from .queues import LaneQueues, show_queues
from .roofline import show_roofline, turn_roofline
from .rounds import Rounds, show_rounds
from .sectors import Sectors, show_sectors
from .stages import Stages, show_stages
from .states import StatesPicture, show_states
from .steps import Steps, show_steps
from .tables import Table, table
from .timeline import show_timeline
from .trace import TracePicture, show_trace, trace_lanes, trace_totals

__all__ = [
    "BankMap", "Flow", "FormatPicture", "Gantt", "LadderPicture", "LaneQueues", "Lanes",
    "OverlapPicture", "Picture", "PlanPicture", "Rounds", "Sectors", "Stages", "StatesPicture",
    "Steps", "Table", "TracePicture", "TrainingRun", "compare", "planner_page", "show_banks",
    "show_chunks", "show_flow", "show_format", "show_fragments", "show_holdings", "show_lanes",
    "show_occupancy", "show_overlap", "show_pairs", "show_plan", "show_queues", "show_roofline",
    "show_rounds", "show_sass", "show_schedule", "show_sectors", "show_stages", "show_states",
    "show_steps", "show_threads", "show_timeline", "show_trace", "table", "trace_lanes",
    "trace_totals", "turn_plan", "turn_roofline",
]  # fmt: skip
