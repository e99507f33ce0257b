"""Ranks: N processes of one process group, started from a notebook cell in a tenth of a second.

`from warpwise.ranks import run_ranks` starts a process in the background that loads PyTorch.
See README.md beside this file.
"""

from typing import TYPE_CHECKING, Any

from .diagnosis import Diagnosis
from .errors import Hang, RankError
from .ledger import Ledger
from .outcome import Outcome
from .referee import diagnose

if TYPE_CHECKING:
    from .launch import run_ranks

__all__ = ["Diagnosis", "Hang", "Ledger", "Outcome", "RankError", "diagnose", "run_ranks"]


def __getattr__(name: str) -> Any:
    # Only who asks for ranks has them prepared: other modules of this package need none.
    if name == "run_ranks":
        from .launch import run_ranks
        from .zygote import start_in_background

        start_in_background()
        return run_ranks
    raise AttributeError(f"module 'warpwise.ranks' has no attribute {name!r}")
