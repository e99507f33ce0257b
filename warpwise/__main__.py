"""The course's command line: `python -m warpwise COMMAND`.

doctor        what this machine can do, and what mends the rest
lab           lay copies of the labs and open JupyterLab on the start page
mine          lay copies of the labs under mine/
run FILE      run a kernel script that says `from numba import cuda` on this machine's backend
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence


def _doctor(arguments: Sequence[str]) -> int:
    from warpwise import doctor

    return doctor.main(arguments)


def _lab(arguments: Sequence[str]) -> int:
    from warpwise.setup import lab

    return lab.main(arguments)


def _mine(arguments: Sequence[str]) -> int:
    from warpwise import workspace

    return workspace.main(arguments)


def _run(arguments: Sequence[str]) -> int:
    from warpwise.setup import script

    return script.main(arguments)


# Imported on demand: the doctor must run also where NumPy or Jupyter are missing.
COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "doctor": _doctor,
    "lab": _lab,
    "mine": _mine,
    "run": _run,
}


def main(arguments: Sequence[str]) -> int:
    """Runs one command.  Returns its exit status, 2 when there is no such command."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"There is no command {name!r}.\n\n{__doc__}", file=sys.stderr)
        return 2
    return COMMANDS[name](rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
