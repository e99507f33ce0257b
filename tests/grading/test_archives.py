"""Archives: what comes out, what does not, and that no archive can do harm."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from grading import archives
from grading.archives import Room, unpack
from grading.intake import find
from grading.reasons import SubmissionError
from tests.grading.submissions import notebook_bytes

LAB = "t1_01_threads"
SMALL = Room(100, 1_000_000)
NOTEBOOK = notebook_bytes("a = 1")


def zipped(path: Path, **files: bytes) -> Path:
    """A zip with these files; __ in a name is a slash."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name.replace("__", "/"), data)
    return path


def files(folder: Path) -> dict[str, int]:
    """path -> size of what was unpacked."""
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def reason(archive: Path, tmp_path: Path, room: Room = SMALL) -> str:
    """Why an archive is refused; nothing of it is left behind."""
    with pytest.raises(SubmissionError) as caught:
        unpack(archive, tmp_path / "un", room)
    assert os.listdir(tmp_path / "un") == []
    assert archive.name in caught.value.sentence
    return caught.value.reason


@pytest.mark.parametrize("mode", ["zip", "w", "w:gz", "w:bz2"])
def test_what_is_read_comes_out_whole_and_of_the_rest_the_names(mode: str, tmp_path: Path) -> None:
    """A second time nothing is done again."""
    path = tmp_path / "ada.tar"
    if mode == "zip":
        zipped(path, a__lab=b"x")
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("a/lab.ipynb", NOTEBOOK)
            made.writestr("a/film.mp4", b"x" * 5000)
    else:
        with tarfile.open(path, mode) as packed:
            for name, data in (("a/lab.ipynb", NOTEBOOK), ("a/film.mp4", b"x" * 5000)):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                packed.addfile(member, io.BytesIO(data))

    into, skipped = unpack(path, tmp_path / "un", SMALL)

    assert files(into) == {"a/lab.ipynb": len(NOTEBOOK), "a/film.mp4": 0}
    assert skipped == ()
    assert stat.S_IMODE((tmp_path / "un").stat().st_mode) == 0o700
    assert unpack(path, tmp_path / "un", SMALL)[0] == into


@pytest.mark.parametrize(
    "name", ["../x.ipynb", "/etc/x.ipynb", "a/../../x.ipynb", "..\\x.ipynb", "C:\\x.ipynb", ".."]
)
def test_names_that_lead_out_stay_in(name: str, tmp_path: Path) -> None:
    """They are not written, and they are told."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(name, NOTEBOOK)
        made.writestr("good.ipynb", NOTEBOOK)

    into, skipped = unpack(tmp_path / "a.zip", tmp_path / "un", SMALL)

    assert set(files(into)) == {"good.ipynb"}
    assert len(skipped) == 1
    assert not (tmp_path / "x.ipynb").exists()


def test_links_and_devices_stay_in(tmp_path: Path) -> None:
    """Of a zip and of a tar."""
    link = zipfile.ZipInfo("link.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(link, "/etc/passwd")
    with tarfile.open(tmp_path / "b.tar", "w") as packed:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            member = tarfile.TarInfo(f"{kind.decode()}.ipynb")
            member.type, member.linkname = kind, "/etc/passwd"
            packed.addfile(member)

    for name, count in (("a.zip", 1), ("b.tar", 4)):
        into, skipped = unpack(tmp_path / name, tmp_path / "un", SMALL)
        assert files(into) == {} and len(skipped) == count


def test_one_name_twice_is_two_files(tmp_path: Path) -> None:
    """So that a person sees both; a file where a folder should be is moved."""
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(tmp_path / "a.zip", "w") as made,
    ):
        for name in ("lab.ipynb", "lab.ipynb", "lab.ipynb/x.ipynb"):
            made.writestr(name, NOTEBOOK)

    into, _ = unpack(tmp_path / "a.zip", tmp_path / "un", SMALL)

    assert set(files(into)) == {"lab.ipynb", "lab (2).ipynb", "lab.ipynb_x.ipynb"}


def test_names_in_utf8_that_do_not_say_so(tmp_path: Path) -> None:
    """As many tools write them."""
    data = bytearray(zipped(tmp_path / "a.zip", Zo__X=NOTEBOOK).read_bytes())
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as made:
        made.writestr("Zoë.ipynb", NOTEBOOK)
    data = bytearray((tmp_path / "b.zip").read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.index(mark) + place
        data[at : at + 2] = struct.pack("<H", struct.unpack("<H", data[at : at + 2])[0] & ~0x800)
    (tmp_path / "c.zip").write_bytes(data)

    into, _ = unpack(tmp_path / "c.zip", tmp_path / "un", SMALL)

    assert set(files(into)) == {"Zoë.ipynb"}


def test_bombs_are_stopped(tmp_path: Path) -> None:
    """By what comes out, whatever the headers say: size, number, a header as large as a file."""
    bomb = zipped(tmp_path / "bomb.zip", **{f"{k}.zip": b"\0" * 400_000 for k in range(9)})
    many = zipped(tmp_path / "many.zip", **{f"{k}.txt": b"" for k in range(200)})
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 50_000_000
    pax = tmp_path / "pax.tar.gz"
    with gzip.open(pax, "wb", 9) as file:
        file.write(header.tobuf() + b"\0" * 50_000_000)

    for one in (bomb, many, pax):
        assert reason(one, tmp_path) == "archive-too-large"


def test_a_notebook_that_is_too_large_is_cut_where_the_reader_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader then says that it is too large; the rest of a class is read."""
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    zipped(tmp_path / "a.zip", **{"big.ipynb": b" " * 50_000, "good.ipynb": NOTEBOOK})

    into, _ = unpack(tmp_path / "a.zip", tmp_path / "un", SMALL)

    assert files(into) == {"big.ipynb": 1001, "good.ipynb": len(NOTEBOOK)}


def test_damaged_and_locked_archives(tmp_path: Path) -> None:
    """A sentence for the student, whatever the library makes of it."""
    good = zipped(tmp_path / "good.zip", **{"lab.ipynb": NOTEBOOK * 20}).read_bytes()
    locked = bytearray(good)
    at = locked.index(b"PK\x01\x02") + 8
    locked[at] |= 1
    damaged = bytearray(good)
    damaged[60] ^= 0xFF
    for name, data in {
        "half.zip": good[: len(good) // 2], "text.zip": b"hello", "empty.zip": b"",
        "flipped.zip": bytes(damaged), "half.tgz": gzip.compress(b"x" * 10_000)[:30],
        "no.tar": b"x" * 2000, "rar.zip": b"Rar!\x1a\x07\0" + b"x" * 100,
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        assert reason(tmp_path / name, tmp_path) == "archive-broken", name
    with zipfile.ZipFile(tmp_path / "lzma.zip", "w", zipfile.ZIP_LZMA) as made:
        made.writestr("lab.ipynb", NOTEBOOK)
    assert reason(tmp_path / "lzma.zip", tmp_path) == "archive-broken"
    (tmp_path / "locked.zip").write_bytes(bytes(locked))
    assert reason(tmp_path / "locked.zip", tmp_path) == "archive-locked"


def test_every_cut_and_flip_is_a_sentence(tmp_path: Path) -> None:
    """No damage brings anything else than files or a refusal."""
    good = zipped(tmp_path / "good.zip", **{"lab.ipynb": NOTEBOOK}).read_bytes()
    for place in range(0, len(good), 3):
        for data in (good[:place], good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :]):
            (tmp_path / "bad.zip").write_bytes(data)
            try:
                unpack(tmp_path / "bad.zip", tmp_path / "un", SMALL)
            except SubmissionError as error:
                assert error.reason.startswith("archive-")


def test_a_students_archive_is_a_students_folder(tmp_path: Path) -> None:
    """A copy of what lies beside it is no second notebook; too deep is said."""
    folder = tmp_path / "in"
    (folder / "ada").mkdir(parents=True)
    (folder / "ada" / "lab.ipynb").write_bytes(NOTEBOOK)
    zipped(folder / "ada" / "all.zip", **{"lab.ipynb": NOTEBOOK})
    deep = zipped(tmp_path / "0.zip", **{"lab.ipynb": NOTEBOOK})
    for level in range(1, 5):
        deep = zipped(tmp_path / f"{level}.zip", **{"in.zip": deep.read_bytes()})
    (folder / "bob.zip").write_bytes(deep.read_bytes())
    zipped(folder / "cyd.zip", **{"notes.txt": b"x"})
    zipped(folder / "dot.ZIP", **{"a.ipynb": NOTEBOOK, "b.ipynb": notebook_bytes("b = 1")})

    found = {one.student: one for one in find(folder, LAB, unpacked=tmp_path / "un").submissions}

    assert found["ada"].path == folder / "ada" / "lab.ipynb"
    assert found["bob"].refusal.reason == "archive-in-archive"
    assert found["cyd"].refusal.reason == "not-a-notebook-file"
    assert found["dot"].refusal.reason == "several-notebooks"
    assert sorted(path.name for path in folder.iterdir()) == [
        "ada",
        "bob.zip",
        "cyd.zip",
        "dot.ZIP",
    ]
