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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from grading.exports.page import page, text
from grading.exports.rows import exercises
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


@dataclass(frozen=True)
class _Match:
    """Two answers by their places among the rows, not yet laid out."""

    exercise: str
    found: list[Run]
    share: float
    weight: float


def pairs(
    rows: Sequence[Result], scaffold: Iterable[str] = (), most: int | None = None
) -> list[Pair]:
    """Pairs of similar answers, those with most unusual code first, at most `most` of them.

    scaffold: the texts that the lab hands out.
    """
    return [_laid_out(rows, *one) for one in _ranked(rows, scaffold)[:most]]


def _ranked(
    rows: Sequence[Result], scaffold: Iterable[str]
) -> list[tuple[tuple[int, int], list[_Match]]]:
    """Places of two rows and what they share, the heaviest first."""
    given = {run for source in scaffold for run in runs(source)}
    shared: dict[tuple[int, int], list[_Match]] = {}
    for exercise in exercises(rows):
        for places, match in _in_exercise(exercise, rows, given):
            shared.setdefault(places, []).append(match)
    return sorted(shared.items(), key=lambda one: (-sum(each.weight for each in one[1]), one[0]))


def _in_exercise(
    exercise: str, rows: Sequence[Result], given: Collection[Run]
) -> Iterator[tuple[tuple[int, int], _Match]]:
    sources = _sources(exercise, rows)
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
    for (first, second), found in common.items():
        share = len(found) / min(sizes[first], sizes[second])
        if len(found) >= _LEAST_SHARED and share >= _LEAST_SHARE:
            weight = sum(math.log(1 + len(sources) / len(unusual[run])) for run in found)
            yield (first, second), _Match(exercise, found, share, weight)


def _sources(exercise: str, rows: Sequence[Result]) -> dict[int, str]:
    """Place of a row -> what its student wrote for the exercise."""
    return {
        place: one.source
        for place, row in enumerate(rows)
        for one in row.exercises
        if one.exercise == exercise and one.status != "todo" and one.source.strip()
    }


def _laid_out(rows: Sequence[Result], places: tuple[int, int], matches: list[_Match]) -> Pair:
    shared = []
    for one in sorted(matches, key=lambda each: -each.weight):
        sides = []
        for row in (rows[place] for place in places):
            source = next(each.source for each in row.exercises if each.exercise == one.exercise)
            sides.append(Side(row.student, source, _lines(source, one.found)))
        shared.append(Shared(one.exercise, len(one.found), one.share, *sides))
    first, second = (rows[place].student for place in places)
    return Pair((first, second), sum(one.weight for one in matches), tuple(shared))


def _lines(source: str, found: Sequence[Run]) -> frozenset[int]:
    here = runs(source)
    return frozenset(line for run in found for line in here[run])


def similar_page(rows: Sequence[Result], lab: str, scaffold: Iterable[str] = ()) -> str:
    """The page for the instructor: pairs side by side, shared lines marked."""
    found = _ranked(rows, scaffold)
    title = f"{lab}: similar answers"
    parts = [
        f"<main><h1>{text(title)}</h1>",
        f"<p>Pairs that share unusual code: {len(found)}"
        + (f"; the first {_MOST_PAIRS} are shown" if len(found) > _MOST_PAIRS else "")
        + ". Names that students chose, the lab's own text and what many have in common were left "
        "out. Similar is not copied: short tasks have few right answers, and students learn "
        "together. Read both, and ask.</p>",
    ]
    for pair in (_laid_out(rows, *one) for one in found[:_MOST_PAIRS]):
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
