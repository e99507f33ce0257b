"""Similar answers: pairs that share unusual code.  What it means is for a person to say.

Answers are compared as runs of tokens, with the names that a student chose left out.  Runs that
the lab hands out do not count, nor do those that many students have: these are idioms.
"""

from __future__ import annotations

import io
import keyword
import math
import tokenize
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from grading.exports.page import page, text
from grading.exports.shape import bound, tree_of
from grading.results import Result

RUN = 8  # tokens: about one statement
_LEAST_SHARED = 12  # runs of one answer: about three lines
_LEAST_SHARE = 0.5  # of the unusual runs of the shorter answer
_MOST_PAIRS = 200  # in the report
_SKIPPED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
Run = tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One student's answer.  lines: numbers, from 1, of its lines with shared unusual code."""

    student: str
    source: str
    lines: frozenset[int]


@dataclass(frozen=True)
class Shared:
    """What two answers to one exercise share.  share: of the shorter one's unusual runs."""

    exercise: str
    runs: int
    share: float
    left: Side
    right: Side


@dataclass(frozen=True)
class Pair:
    """Two students.  weight: the sum over shared runs, rare ones counting more."""

    students: tuple[str, str]
    weight: float
    shared: tuple[Shared, ...]


@lru_cache(maxsize=20_000)
def runs(source: str) -> dict[Run, frozenset[int]]:
    """Run of tokens -> the lines it stands on; {} for what is no Python."""
    tree = tree_of(source)
    if tree is None:
        return {}
    own = bound(tree)
    tokens = []
    try:
        for one in tokenize.generate_tokens(io.StringIO(source).readline):
            if one.type not in _SKIPPED:
                tokens.append((_token(one, own), one.start[0], one.end[0]))
    except (tokenize.TokenError, SyntaxError):
        return {}
    found: dict[Run, frozenset[int]] = {}
    for place in range(len(tokens) - RUN + 1):
        part = tokens[place : place + RUN]
        lines = frozenset(line for _, first, last in part for line in range(first, last + 1))
        key = tuple(word for word, _, _ in part)
        found[key] = found.get(key, frozenset()) | lines
    return found


def _token(one: tokenize.TokenInfo, own: Collection[str]) -> str:
    if one.type == tokenize.NAME and one.string in own and not keyword.iskeyword(one.string):
        return "."
    return "''" if one.type == tokenize.STRING else one.string


def idiom_limit(students: int) -> int:
    """In how many answers a run may stand and still be unusual: 3 in a small class, at most 20."""
    return max(3, min(20, students // 4))


def pairs(rows: Sequence[Result], scaffold: Iterable[str] = ()) -> list[Pair]:
    """Pairs of similar answers, those with most unusual code first.

    scaffold: the texts that the lab hands out.
    """
    given = {run for source in scaffold for run in runs(source)}
    shared: dict[tuple[int, int], list[tuple[float, Shared]]] = {}
    for exercise in {one.exercise for row in rows for one in row.exercises}:
        for places, weight, found in _in_exercise(exercise, rows, given):
            shared.setdefault(places, []).append((weight, found))
    made = [
        Pair(
            (rows[first].student, rows[second].student),
            sum(weight for weight, _ in found),
            tuple(one for _, one in sorted(found, key=lambda both: -both[0])),
        )
        for (first, second), found in shared.items()
    ]
    return sorted(made, key=lambda one: (-one.weight, one.students))


def _in_exercise(
    exercise: str, rows: Sequence[Result], given: Collection[Run]
) -> list[tuple[tuple[int, int], float, Shared]]:
    sources = {
        place: one.source
        for place, row in enumerate(rows)
        for one in row.exercises
        if one.exercise == exercise and one.status != "todo" and one.source.strip()
    }
    holders: dict[Run, list[int]] = {}
    for place, source in sources.items():
        for run in runs(source):
            if run not in given:
                holders.setdefault(run, []).append(place)
    limit = idiom_limit(len(sources))
    unusual = {run: places for run, places in holders.items() if len(places) <= limit}
    sizes = Counter(place for places in unusual.values() for place in places)
    common: dict[tuple[int, int], list[Run]] = {}
    for run, places in unusual.items():
        for both in combinations(places, 2):
            common.setdefault(both, []).append(run)
    made = []
    for (first, second), found in common.items():
        share = len(found) / min(sizes[first], sizes[second])
        if len(found) < _LEAST_SHARED or share < _LEAST_SHARE:
            continue
        weight = sum(math.log(1 + len(sources) / len(unusual[run])) for run in found)
        sides = [
            Side(rows[place].student, sources[place], _lines(sources[place], found))
            for place in (first, second)
        ]
        made.append(((first, second), weight, Shared(exercise, len(found), share, *sides)))
    return made


def _lines(source: str, found: Sequence[Run]) -> frozenset[int]:
    here = runs(source)
    return frozenset(line for run in found for line in here[run])


def similar_page(rows: Sequence[Result], lab: str, scaffold: Iterable[str] = ()) -> str:
    """The page for the instructor: pairs side by side, shared lines marked."""
    found = pairs(rows, scaffold)
    title = f"{lab}: similar answers"
    parts = [
        f"<main><h1>{text(title)}</h1>",
        f"<p>Pairs that share unusual code: {len(found)}"
        + (f"; the first {_MOST_PAIRS} are shown" if len(found) > _MOST_PAIRS else "")
        + ". Names that students chose, the lab's own text and what many have in common were left "
        "out. Similar is not copied: short tasks have few right answers, and students learn "
        "together. Read both, and ask.</p>",
    ]
    for pair in found[:_MOST_PAIRS]:
        left, right = pair.students
        parts.append(f"<section><h2>{text(left)} and {text(right)}</h2>")
        for one in pair.shared:
            parts += [
                f"<p>{text(one.exercise)}: {one.runs} unusual runs of {RUN} tokens in common, "
                f"{100 * one.share:.0f} % of the shorter answer's.</p>",
                f'<div class="pair">{_side(one.left)}{_side(one.right)}</div>',
            ]
        parts.append("</section>")
    return page(title, "\n".join([*parts, "</main>"]), wide=True)


def _side(one: Side) -> str:
    lines = [
        f"<mark>{text(line)}</mark>" if place in one.lines else text(line)
        for place, line in enumerate(one.source.rstrip().split("\n"), start=1)
    ]
    label = f"Answer of {text(one.student)}, similar lines marked"
    body = "\n".join(lines)
    return (
        f'<div><p class="soft">{text(one.student)}</p>'
        f'<pre tabindex="0" aria-label="{label}">{body}</pre></div>'
    )
