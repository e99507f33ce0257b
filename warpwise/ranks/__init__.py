"""Ranks: N processes of one process group, started from a notebook cell in a tenth of a second.

`from warpwise.ranks import run_ranks` starts loading PyTorch in a process of its own, in the
background.  See README.md beside this file.
"""

from .launch import run_ranks
from .outcome import Hang, Outcome, RankError
from .zygote import start_in_background

__all__ = ["Hang", "Outcome", "RankError", "run_ranks"]

start_in_background()
