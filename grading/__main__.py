"""`python -m grading COMMAND`: grade a class.  `python -m grading --help` lists the commands.

Exit code 0: done; every submission has its row, also the unreadable ones.  1: the grader failed on
a submission, or altogether.  2: the command cannot be carried out as it was given.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from types import ModuleType
from typing import NoReturn

from grading.commands import COMMANDS
from grading.commands.options import UsageError

PROGRAM = "python -m grading"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


def _help() -> str:
    lines = [f"  {name:10} {_module(name).HELP}" for name in COMMANDS]
    return "\n".join([f"{PROGRAM} COMMAND --help", "", "Commands:", *lines])


def _module(name: str) -> ModuleType:
    return importlib.import_module(COMMANDS[name])


def _run(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(_help())
        return 0 if argv else 2
    if argv[0] not in COMMANDS:
        raise UsageError(f"There is no command {argv[0]!r}. Commands: {', '.join(COMMANDS)}.")
    command = _module(argv[0])
    parser = _Parser(prog=f"{PROGRAM} {argv[0]}", description=command.HELP)
    command.arguments(parser)
    return command.run(parser.parse_args(argv[1:]))


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "Stopped. What was graded so far is kept; the same command goes on from there.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception:
        traceback.print_exc()
        print("The grader failed. The results written so far are complete.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
