"""How platforms name what they let an instructor download: from a name to a student.

A layout is recognised when more than half of the names in a folder have its form.  What it knows of
a name are *ids*, which the platform gave, and *names* of people, which may be shared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grading.archives import SUFFIXES

METADATA = "submission_metadata.yml"
_MAX_METADATA = 200_000_000


@dataclass(frozen=True)
class Owner:
    """Whose an entry is, as its name says.

    label: for people.  ids: of the platform, an e-mail or a login, or what may be one.
    names: of a person.  squeezed: a name without blanks, the last name first.
    time: the text with the time of submission, "" without one; None where a name may hold one.
    key: what is the same for all entries of one attempt.
    """

    label: str
    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    squeezed: str = ""
    time: str | None = ""
    key: str = ""


@dataclass(frozen=True)
class Layout:
    """One platform's way.  read: from an entry's name to its owners, none if it names no student.

    form: what its entries look like; one that does, and has no owner, is the platform's own.
    """

    name: str
    read: Callable[[str], tuple[Owner, ...]]
    form: re.Pattern[str] | None = None

    def is_its_own(self, name: str) -> bool:
        """Whether an entry is nobody's submission, such as a page about one."""
        return bool(self.form and self.form.fullmatch(name)) and not self.read(name)


PLAIN = Layout("", lambda name: ())

# smithbob_340934_208490284_work.ipynb, with _LATE_ behind the name of who was late: the name
# without blanks, Canvas's number of the user, that of the file.  Texts and links have no file.
_CANVAS = re.compile(
    r"(?:LATE_)?anon_(?P<anon>[A-Za-z0-9]+)_\d+_.+"
    r"|(?P<name>.+?)(?:_LATE)?_(?P<user>\d+)_(?:(?P<file>\d+)_.+|(?:text|link)\.html)"
)
# Ada Lovelace_657717_assignsubmission_file_, a folder or the start of a file's name.
_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<user>\d+)_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<rest>.*))?"
)
# Lab 1_ada_attempt_2026-03-01-10-22-13_work.ipynb, and a .txt without the last part.
_BLACKBOARD = re.compile(r"(?P<who>.+_.+)_attempt_(?P<time>\d{4}(?:-\d\d){5})(?P<rest>_.+|\.txt)?")
# 12345-67890 - Ada Lovelace - Mar 1, 2026 1022 AM
_BRIGHTSPACE = re.compile(
    r"(?P<user>\d+)-\d+ - (?P<name>.+?) - "
    r"(?P<month>[A-Z][a-z]{2,8})\.? (?P<day>\d{1,2}), (?P<year>\d{4}) "
    r"(?P<clock>\d{3,4}) ?(?P<half>[AP]M)"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_GRADESCOPE = re.compile(r"submission_\d+")


def _canvas(name: str) -> tuple[Owner, ...]:
    found = _CANVAS.fullmatch(name)
    if found is None:
        return ()
    if found["anon"]:
        return (Owner(f"anonymous {found['anon']}", (found["anon"],), key=found["anon"]),)
    if not found["file"]:
        return ()
    return (Owner(found["name"], (found["user"],), (), found["name"], key=found["user"]),)


def _moodle(name: str) -> tuple[Owner, ...]:
    found = _MOODLE.fullmatch(name)
    if found is None or found["kind"] != "file":
        return ()
    user = found["user"]
    return (Owner(found["name"], (f"Participant {user}",), (found["name"],), key=user),)


def _blackboard(names: Sequence[str]) -> Callable[[str], tuple[Owner, ...]]:
    """How the names of one download are read: all start with the assignment."""
    found = [_BLACKBOARD.fullmatch(name) for name in names]
    start = os.path.commonprefix([one["who"] for one in found if one])  # noqa: RUF071

    def read(name: str) -> tuple[Owner, ...]:
        found = _BLACKBOARD.fullmatch(name)
        if found is None or found["rest"] in (None, ".txt"):
            return ()
        users = _ends(found["who"], start, "_")
        if not users:
            return ()
        time = found["time"][:10] + " " + found["time"][11:]
        return (Owner(users[-1], users, (), time=time, key=f"{found['who']} {time}"),)

    return read


def _ends(name: str, start: str, separators: str) -> tuple[str, ...]:
    """What may be left of a name behind the start that all names share, the longest first."""
    cuts = [k + 1 for k, c in enumerate(name[: len(start) + 1]) if c in separators]
    return tuple(name[cut:] for cut in cuts if name[cut:])


def _brightspace(name: str) -> tuple[Owner, ...]:
    found = _BRIGHTSPACE.fullmatch(name)
    if found is None or found["month"][:3].lower() not in _MONTHS:
        return ()
    month = _MONTHS.index(found["month"][:3].lower()) + 1
    clock = found["clock"].zfill(4)
    hour = int(clock[:2]) % 12 + 12 * (found["half"] == "PM")
    time = f"{found['year']}-{month:02}-{int(found['day']):02} {hour:02}:{clock[2:]}"
    return (Owner(found["name"], (found["user"],), (found["name"],), time=time, key=found[0]),)


_LAYOUTS = (
    Layout("Canvas", _canvas, _CANVAS),
    Layout("Moodle", _moodle, _MOODLE),
    Layout("Blackboard", lambda name: (), _BLACKBOARD),
    Layout("Brightspace", _brightspace, _BRIGHTSPACE),
)


def recognise(folder: Path, names: Sequence[str]) -> Layout:
    """The layout of a folder with entries of these names; `PLAIN` where it is none of them."""
    if any(_GRADESCOPE.fullmatch(one) for one in names):
        known = _gradescope(folder / METADATA)
        if known:
            return Layout(
                "Gradescope", lambda name: known.get(name) or known.get(stem_of(name), ())
            )
    for layout in _LAYOUTS:
        assert layout.form is not None
        if 2 * sum(layout.form.fullmatch(one) is not None for one in names) > len(names):
            return (
                replace(layout, read=_blackboard(names)) if layout.form is _BLACKBOARD else layout
            )
    start = common_start(names)
    return Layout("", lambda name: _after(start, name)) if start else PLAIN


def common_start(names: Iterable[str]) -> str:
    """What all names start with, such as "lab-1-" of lab-1-ada and lab-1-bob.

    Only where it has a number and ends with a separator: two students may share a first name.
    """
    stems = [stem_of(one) for one in names]
    if len(stems) < 2:
        return ""
    start = os.path.commonprefix(stems)  # noqa: RUF071 - characters are meant
    start = start[: max(start.rfind(one) for one in "-_ ") + 1]
    return start if re.search(r"\d", start) else ""


def _after(start: str, name: str) -> tuple[Owner, ...]:
    """Where the shared start ends is not known: logins may share one, too."""
    stem = stem_of(name)
    last = max(k for k, c in enumerate(start) if c.isdigit())
    ends = _ends(stem[last:], start[last:], "-_ ")
    return (Owner(stem, ends, (stem,), time=None),)


def stem_of(name: str) -> str:
    """A name without the end that says what kind of file it is."""
    lower = name.lower()
    for end in (".ipynb", ".tar.gz", ".tar.bz2", ".tar.xz", *SUFFIXES):
        if lower.endswith(end):
            return name[: -len(end)]
    return name


def _gradescope(path: Path) -> Mapping[str, tuple[Owner, ...]]:
    """folder -> its owners, several for a group; empty where the file is not Gradescope's.

    The form: submission_1: {":submitters": [{":name", ":sid", ":email"}], ":created_at"}.
    """
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_METADATA:
            return {}
        data = _yaml(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    found = {}
    for name, record in data.items() if isinstance(data, dict) else ():
        if not isinstance(record, dict):
            continue
        people = record.get(":submitters") or record.get("submitters") or ()
        time = str(record.get(":created_at") or record.get("created_at") or "")
        owners = [_submitter(one, time) for one in people if isinstance(one, dict)]
        if any(owners):
            found[str(name)] = tuple(one for one in owners if one)
    return found


def _submitter(one: dict[Any, Any], time: str) -> Owner | None:
    name, sid, email = (str(one.get(key) or "") for key in (":name", ":sid", ":email"))
    label = name or email or sid
    ids = tuple(filter(None, (email, sid)))
    return Owner(label, ids, (name,), time=time) if label else None


def _yaml(text: str) -> Any:
    """Plain data; objects of Ruby's are read as what they are made of."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def plain(loader: Any, _: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Loader.add_multi_constructor("!ruby", plain)
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
