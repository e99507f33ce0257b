"""Drawing only: pictures of launches, and tables.  Nothing here computes what it shows."""

from .picture import Picture, show_threads
from .steps import Steps, show_steps
from .tables import Table, table

__all__ = ["Picture", "Steps", "Table", "show_steps", "show_threads", "table"]
