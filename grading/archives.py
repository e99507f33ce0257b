"""Unpack what was handed in as an archive: zip, or tar, also compressed.

Nothing that an archive says of itself is believed.  Bytes are counted while they are written, names
that lead out of the folder are refused, and only regular files come out of it.  Of these, files
that no one reads here keep their names and nothing else.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from grading.parse import MAX_BYTES
from grading.reasons import refusal

SUFFIXES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".tbz2")
#: What may be inside an archive and is looked at; of all else the name is enough.
_READ = (".ipynb", *SUFFIXES)
_READ_NAMES = ("timestamp.txt", "submission_metadata.yml")
_MAGIC = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
_BLOCK = 1 << 16
_MAX_DIRECTORY = 50_000_000  # bytes of a zip's list of its files
# What a damaged archive brings out of the libraries that read it.
_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError,
    NotImplementedError, RuntimeError, MemoryError, KeyError, IndexError, AttributeError,
)  # fmt: skip

# Faults of this machine, not of the archive.
_OURS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.EIO,
)


@dataclass(frozen=True)
class Room:
    """How much may come out of one archive.  entries: names; bytes: of all files together."""

    entries: int
    bytes: int


#: What a platform gives for a whole class, and what one student hands in.
CLASS = Room(300_000, 20_000_000_000)
STUDENT = Room(2_000, 500_000_000)


@dataclass(frozen=True)
class _Entry:
    """One entry.  source: what its library opens."""

    name: str
    is_file: bool
    is_folder: bool
    source: Any


def is_archive(path: Path) -> bool:
    """Whether a name ends as an archive's does."""
    return path.suffix.lower() in SUFFIXES


def unpack(archive: Path, under: Path, room: Room) -> tuple[Path, tuple[str, ...]]:
    """The folder with what was in `archive`, and the names that were left in it.

    It lies below `under` and is named by content, so that the same archive is unpacked once.
    Raises SubmissionError: "archive-broken", "archive-locked", "archive-too-large".
    """
    digest = _digest(archive)
    into = under / digest
    skipped_file = under / f"{digest}.skipped"
    if into.is_dir():
        return into, _lines(skipped_file)
    under.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(dir=under, prefix=".unpacking-"))
    try:
        try:
            skipped = tuple(_unpack(archive, made, room))
        except _BROKEN as error:
            if isinstance(error, OSError) and error.errno in _OURS:
                raise
            fact = str(error) or type(error).__name__
            raise refusal("archive-broken", name=archive.name, fact=_short(fact)) from None
        skipped_file.write_text("\n".join(skipped), encoding="utf-8", errors="replace")
        with contextlib.suppress(FileExistsError, OSError):  # another one was faster
            made.rename(into)
        return into, skipped
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _unpack(archive: Path, into: Path, room: Room) -> Iterator[str]:
    """Write the files; give the names of what was not written."""
    left, count = room.bytes, 0
    taken: set[str] = set()
    with archive.open("rb") as file:
        for entry, read in _entries(archive, file, room):
            count += 1
            if count > room.entries:
                raise refusal(
                    "archive-too-large", name=archive.name, fact=f"{room.entries:,} files"
                )
            if entry.is_folder:
                continue
            path = _safe(entry.name) if entry.is_file else None
            if path is None:
                yield entry.name
                continue
            target = _apart(into, path, taken)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            wanted = path.suffix.lower() in _READ or path.name in _READ_NAMES
            # One byte more than the reader takes, so that it refuses the file and says why.
            most = MAX_BYTES + 1 if path.suffix.lower() == ".ipynb" else left
            with open(target, "xb") as out:
                if wanted:
                    left -= _copy(read(entry.source), out, min(most, left))
            if left <= 0:
                fact = f"{room.bytes // 1_000_000:,} MB"
                raise refusal("archive-too-large", name=archive.name, fact=fact)


def _entries(archive: Path, file: IO[bytes], room: Room) -> Iterator[tuple[_Entry, Any]]:
    """(entry, how to open it) for each entry of a zip or a tar."""
    start = file.read(6)
    file.seek(0)
    if start[:2] == b"PK":
        yield from _zip(archive, file)
        return
    for magic, opened in _MAGIC.items():
        if start.startswith(magic):
            file = opened(file)  # type: ignore[assignment, operator]
    with tarfile.open(fileobj=_Counted(file, archive, room), mode="r|") as tar:  # type: ignore[call-overload]
        for one in tar:
            yield _Entry(one.name, one.isreg(), one.isdir(), one), tar.extractfile


def _zip(archive: Path, file: IO[bytes]) -> Iterator[tuple[_Entry, Any]]:
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - 66_000))
    end = file.read()
    place = end.rfind(b"PK\x05\x06")
    # The length of the list of files; 0xFFFFFFFF where a second record has it.
    listed = int.from_bytes(end[place + 12 : place + 16], "little") if place >= 0 else 0
    if size > _MAX_DIRECTORY and listed > _MAX_DIRECTORY and listed != 0xFFFFFFFF:
        raise refusal("archive-too-large", name=archive.name, fact="a list of files of 50 MB")
    file.seek(0)
    with zipfile.ZipFile(file) as opened:
        for one in opened.infolist():
            mode = one.external_attr >> 16
            is_file = not one.is_dir() and stat.S_IFMT(mode) in (0, stat.S_IFREG)
            if is_file and one.flag_bits & 1:
                raise refusal("archive-locked", name=archive.name)
            if one.compress_type == zipfile.ZIP_LZMA:  # its header says how much memory it wants
                raise zipfile.BadZipFile("packed with LZMA, which is not read here")
            yield _Entry(_named(one), is_file, one.is_dir(), one), opened.open


def _named(one: zipfile.ZipInfo) -> str:
    """A name as it was meant: many tools write UTF-8 without saying so."""
    if not one.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            return one.filename.encode("cp437").decode("utf-8")
    return one.filename


class _Counted:
    """A stream that ends the reading when more comes out of it than there is room for."""

    def __init__(self, file: IO[bytes], archive: Path, room: Room) -> None:
        self._file, self._archive, self._room = file, archive, room
        self._left = room.bytes

    def read(self, size: int = -1) -> bytes:
        if size > self._left:
            fact = f"{self._room.bytes // 1_000_000:,} MB"
            raise refusal("archive-too-large", name=self._archive.name, fact=fact)
        data = self._file.read(size)
        self._left -= len(data)
        return data


def _safe(name: str) -> PurePosixPath | None:
    """The path inside the archive, or None where a name leads elsewhere or cannot be one."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = [part for part in path.parts if part != "."]
    odd = path.is_absolute() or ".." in parts or "\0" in name or ":" in name[:2]
    if odd or not parts or len(parts) > 20 or len(os.fsencode(str(path))) > 1000:
        return None
    if any(len(os.fsencode(one)) > 240 for one in parts):
        return None
    return PurePosixPath(*parts)


def _apart(into: Path, path: PurePosixPath, taken: set[str]) -> Path:
    """A place that no other file of the archive has; one name may stand in it twice."""
    count = 1
    while True:
        name = path.name if count == 1 else f"{path.stem} ({count}){path.suffix}"
        place = path.with_name(name)
        above = {str(one) for one in place.parents}
        if str(place) not in taken and not above & taken and not (into / place).exists():
            taken.add(str(place))
            return into / place
        if above & taken:  # a file stands where a folder should be
            path = PurePosixPath("_".join(path.parts))
        else:
            count += 1


def _copy(source: IO[bytes] | None, out: IO[bytes], most: int) -> int:
    """Copy at most `most` bytes; how many there were."""
    done = 0
    with contextlib.closing(source) if source else contextlib.nullcontext() as file:
        while file is not None and done < most:
            data = file.read(min(_BLOCK, most - done))
            if not data:
                break
            out.write(data)
            done += len(data)
    return done


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _lines(path: Path) -> tuple[str, ...]:
    with contextlib.suppress(OSError):
        return tuple(path.read_text(encoding="utf-8").splitlines())
    return ()


def _short(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:120]
