"""`python -m warpwise run FILE`: a script that says `from numba import cuda`, unchanged, anywhere.

On a GPU nothing is changed.  Elsewhere `numba.cuda` is the simulator for this process, before the
script is started.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence

USAGE = "python -m warpwise run FILE [ARGUMENTS]"


def main(arguments: Sequence[str]) -> int:
    """Runs a script as `python FILE ARGUMENTS` would.  Returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"{__doc__}\n{USAGE}")
        return 0 if arguments else 2
    path, *rest = arguments
    if not os.path.isfile(path):
        print(f"There is no file {path}.", file=sys.stderr)
        return 2
    if importlib.util.find_spec("numba") is None:
        print(
            f"This Python ({sys.executable}) has no Numba. Use the course's own, which make lab "
            f"makes:  .venv/bin/{USAGE}",
            file=sys.stderr,
        )
        return 2
    import warpwise
    from warpwise import simt
    from warpwise.simt.errors import SimtError

    if warpwise.backend() == "sim":
        simt.install()
    # As python does: the script's own folder comes first, its arguments are all it sees.
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    sys.argv = [path, *rest]
    try:
        runpy.run_path(path, run_name="__main__")
    except SimtError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
