"""What a right kernel compiles to: the first fact that its machine code does not have.

fact  a CompiledFact of the spec: an architecture, and a function that reads the compiled code
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..compiler.errors import CompilerError, CompilerMissingError
from .cases import Case
from .failure import Failure
from .spec import CompiledFact

REFUSED = "The simulator runs it, but Numba's compiler refuses it."


def unlike(
    facts: Sequence[CompiledFact], code_for: Callable[[str], Any], case: Case,
    causes: Mapping[str, str], refused: str = REFUSED,
) -> list[Failure]:  # fmt: skip
    """The first fact that is missing, or what the compiler refuses; none when all is as asked.

    code_for: architecture -> the compiled kernel.  refused: the cause where it does not compile.
    Raises CompilerMissingError where this machine has no compiler.
    """
    for fact in facts:
        try:
            wrong = fact.wrong(code_for(fact.arch))
        except CompilerMissingError:
            raise
        except CompilerError as error:
            return [Failure(case, {"compilation": refused}, _short(str(error)))]
        if wrong:
            cause = causes.get(fact.diagnosis, "")
            return [Failure(case, {fact.diagnosis: cause}, f"The values are right.  {wrong}")]
    return []


def _short(text: str) -> str:
    """A compiler's message without most of the kernel's text: the head, and from the line on that
    it points at."""
    lines = [line for line in text.splitlines() if line.strip()]
    marks = [k for k, line in enumerate(lines) if line.strip() == "^"]
    tail = lines[max(marks[-1] - 1, 1) :] if marks else lines[1:][-3:]
    return "\n".join([lines[0], *tail])
