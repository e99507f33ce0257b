"""The commands of `python -m grading`: one module each, with HELP, `arguments` and `run`.

    HELP: str                                    one line for the list of commands
    arguments(parser: ArgumentParser) -> None    adds the command's arguments
    run(args: Namespace) -> int                  does it; the exit code

A command that cannot be carried out as it was given raises UsageError with the sentence to print.
"""

from __future__ import annotations

#: name -> module; only the one that is asked for is loaded.
COMMANDS = {
    "grade": "grading.commands.grade",
    "one": "grading.commands.one",
    "release": "grading.commands.release",
    "rescore": "grading.commands.rescore",
    "export": "grading.commands.export",
    "show": "grading.commands.show",
    "submit-check": "grading.commands.submit_check",
    "simulate": "grading.commands.simulate",
}
