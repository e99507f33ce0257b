"""Drawing only: pictures of launches, and tables.  Nothing here computes what it shows."""

from .picture import Picture, show_threads
from .tables import Table, table

__all__ = ["Picture", "Table", "show_threads", "table"]
