"""Records: fields, whole records, nested ones, in every kind of memory; what Numba refuses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from warpwise.observe import profile, sanitize
from warpwise.observe.census import Census
from warpwise.simt import (
    Kernel,
    MisalignedAddressError,
    OutOfBoundsError,
    SimtError,
    TypingError,
    UnsupportedError,
)
from warpwise.simt import api as cuda

POINT = np.dtype([("x", np.float32), ("y", np.float64), ("k", np.int32)], align=True)
FLOATS = np.dtype([(name, np.float32) for name in "xyzw"], align=True)
NESTED = np.dtype(
    [
        ("place", np.dtype([("x", np.float32), ("y", np.float32)], align=True)),
        ("grid", np.float32, (3, 2)),
        ("tags", np.int16, (2,)),
        ("c", np.complex64),
        ("on", np.bool_),
    ],
    align=True,
)
PACKED = np.dtype([("x", np.float32), ("k", np.uint8)])  # 5 bytes: every other x lies askew
NAMES = {"POINT": POINT, "FLOATS": FLOATS, "NESTED": NESTED, "PACKED": PACKED}


def kernel(body: str, parameters: str = "a, o") -> Kernel:
    """A kernel k with this body; `i` is the thread."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"@cuda.jit\ndef k({parameters}):\n    i = cuda.grid(1)\n{lines}"
    return Kernel.from_source(text, "k", NAMES)


def sample(dtype: np.dtype[Any], n: int, seed: int = 0) -> Any:
    """Random records: random bytes, but for floats and bools."""
    made = np.zeros(n, dtype)
    _fill(made, np.random.default_rng(seed))
    return made


def _fill(part: Any, rng: np.random.Generator) -> None:
    if part.dtype.names:
        for name in part.dtype.names:
            _fill(part[name], rng)
    elif part.dtype.kind == "c":
        part[...] = rng.integers(-9, 9, part.shape) + 1j * rng.integers(-9, 9, part.shape)
    else:
        part[...] = rng.integers(0, 100, part.shape) % (2 if part.dtype.kind == "b" else 100)


# -- fields -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [POINT, FLOATS, PACKED], ids=["POINT", "FLOATS", "PACKED"])
@pytest.mark.parametrize("read", ["a[i].x", "a[i]['x']", "a[i][0]"])
def test_every_way_to_read_a_field(dtype: np.dtype[Any], read: str) -> None:
    """rec.x, rec['x'] and rec[0] are the same."""
    a, o = sample(dtype, 70), np.zeros(70)
    kernel(f"if i < a.size:\n    o[i] = {read}")[3, 32](a, o)
    np.testing.assert_array_equal(o, a["x"])


@pytest.mark.parametrize("write", ["a[i].x = i", "a[i]['x'] = i", "a[i][0] = i", "a.x[i] = i",
                                   "a['x'][i] = i", "p = a[i]\np.x = i"])  # fmt: skip
def test_every_way_to_write_a_field(write: str) -> None:
    """A name for a record is the record itself; nothing else of it changes."""
    a = sample(POINT, 64)
    expected = a.copy()
    expected["x"] = np.arange(64)
    kernel(write)[2, 32](a, np.zeros(1))
    np.testing.assert_array_equal(a, expected)


def test_fields_change_in_place() -> None:
    """+= and other operators, with the field's type at the end."""
    a = sample(POINT, 33)
    expected = a.copy()
    expected["x"] = (a["x"].astype(np.float64) * 1.5).astype(np.float32)
    expected["k"] += 7
    kernel("if i < a.size:\n    a[i].x *= 1.5\n    a[i]['k'] += 7")[2, 32](a, np.zeros(1))
    np.testing.assert_array_equal(a, expected)


def test_a_float_is_cut_to_an_integer_field() -> None:
    """Stores convert, as in Numba."""
    a = np.zeros(3, POINT)
    kernel("if i < 3:\n    a[i].k = i + 0.75")[1, 32](a, np.zeros(1))
    np.testing.assert_array_equal(a["k"], [0, 1, 2])


def test_a_record_can_change_from_path_to_path() -> None:
    """A name that is one record for some threads and another for the rest."""
    body = """
p = a[i]
if i % 3 == 0:
    p = b[n - 1 - i]
q = a[i] if i % 2 else b[i]
o[i] = p.x * 1000 + q.x
p.k = 5
"""
    a, b, o = sample(POINT, 64, 1), sample(POINT, 64, 2), np.zeros(64)
    i = np.arange(64)
    p = np.where(i % 3 == 0, b["x"][::-1], a["x"])
    expected = p * 1000 + np.where(i % 2, a["x"], b["x"])
    kernel(body, "a, b, n, o")[2, 32](a, b, 64, o)
    np.testing.assert_array_equal(o, expected)
    np.testing.assert_array_equal(a["k"][i % 3 != 0], 5)
    np.testing.assert_array_equal(b["k"][::-1][i % 3 == 0], 5)


def test_records_in_loops_and_tuples() -> None:
    """for p in a; a tuple with a record in it; a while loop that walks."""
    body = """
if i == 0:
    total = 0.0
    for p in a:
        total += p.x
    pair = (a[1], 2)
    o[0] = total
    o[1] = pair[0].y * pair[1]
    at = 0
    q = a[0]
    while q.k > 0:
        at += 1
        q = a[q.k]
    o[2] = at
"""
    a = sample(POINT, 10)
    a["k"] = [3, 0, 0, 7, 0, 0, 0, 2, 0, 0]
    o = np.zeros(3)
    kernel(body)[1, 32](a, o)
    assert list(o) == [a["x"].sum(), a["y"][1] * 2, 3]


def test_two_dimensions_slices_and_negative_indices() -> None:
    """An array of records is an array: rows, slices with steps, indices from the end."""
    body = """
if i < 3:
    row = a[i]
    row[1].x = 1
    a[i, 2].x = 2
    a[::-1][i, 3].y = 3
    a[-1][-1].k = 4
    o[i] = a.x[i, 1] + a[:, 1:]['x'][i, 1] + a.shape[1] + a.size
"""
    a, o = np.zeros((3, 4), POINT), np.zeros(3)
    kernel(body).run(1, 32, (a, o))
    assert list(o) == [19, 19, 19]
    assert (a["x"][:, 1] == 1).all()
    assert (a["x"][:, 2] == 2).all()
    assert (a["y"][:, 3] == 3).all()
    assert a["k"][2, 3] == 4


def test_attributes_of_arrays_of_records() -> None:
    """itemsize, nbytes, strides in bytes; a field called like an attribute is read by name."""
    body = """
if i == 0:
    o[0] = a.itemsize
    o[1] = a.nbytes
    o[2] = a.strides[0]
    o[3] = a.y.strides[0]
    o[4] = a.size
    o[5] = a['size'][1]
    o[6] = a[1].size
"""
    dtype = np.dtype([("size", np.int32), ("y", np.float64)], align=True)
    a, o = np.zeros(5, dtype), np.zeros(7)
    a["size"] = 77
    kernel(body)[1, 1](a, o)
    assert list(o) == [16, 80, 16, 16, 5, 77, 77]


# -- whole records, nested ones ---------------------------------------------------


@pytest.mark.parametrize("dtype", [POINT, NESTED, PACKED], ids=["POINT", "NESTED", "PACKED"])
def test_whole_records_are_copied(dtype: np.dtype[Any]) -> None:
    """a[i] = b[j] moves every field, nested ones, arrays and strings included."""
    a, b = sample(dtype, 50, 1), sample(dtype, 50, 2)
    expected = a.copy()
    expected[:40] = b[::-1][:40]
    kernel("if i < 40:\n    a[i] = b[49 - i]", "a, b")[2, 32](a, b)
    np.testing.assert_array_equal(a, expected)


def test_strings_in_a_record_are_copied_but_not_read() -> None:
    """A record with a string can be used; the string itself is refused by name."""
    dtype = np.dtype([("k", np.int32), ("name", "S5"), ("title", "U3")], align=True)
    a = np.array([(1, b"one", "uno"), (2, b"two", "due")], dtype)
    kernel("if i == 0:\n    a[0] = a[1]\n    a[0].k = 9")[1, 32](a, np.zeros(1))
    assert a[0].tolist() == (9, b"two", "due")
    with pytest.raises(UnsupportedError, match=r"a\.name holds strings; kernels here have none"):
        kernel("o[0] = a[0].name[0]")[1, 1](a, np.zeros(1))


def test_nested_records_and_arrays() -> None:
    """Fields of fields, elements of array fields, in records and across the array."""
    body = """
if i < a.size:
    inner = a[i].place
    inner.x += 1
    a[i]['place']['y'] = inner.x * 2
    a[i].grid[1, 0] = a.grid[i, 2, 1]
    a[i].tags[-1] += 3
    row = a[i].grid[2]
    row[0] = len(row)
    a.place.x[i] += 10
    a[i].on = not a[i].on
"""
    a = sample(NESTED, 40)
    expected = a.copy()
    expected["place"]["x"] += 1
    expected["place"]["y"] = expected["place"]["x"] * 2
    expected["grid"][:, 1, 0] = expected["grid"][:, 2, 1]
    expected["tags"][:, 1] += 3
    expected["grid"][:, 2, 0] = 2
    expected["place"]["x"] += 10
    expected["on"] = ~expected["on"]
    kernel(body).run(2, 32, (a, np.zeros(1)))
    np.testing.assert_array_equal(a, expected)


def test_nested_records_and_arrays_are_assigned_whole() -> None:
    """rec.inner = other.inner, and an array field from another or from an array argument."""
    body = """
if i < 20:
    a[i].place = b[i + 1].place
    a[i].grid = b[i].grid
    a[i].tags = t
"""
    a, b = sample(NESTED, 20, 1), sample(NESTED, 21, 2)
    tags = np.array([8, 9], np.int16)
    expected = a.copy()
    expected["place"], expected["grid"], expected["tags"] = b["place"][1:], b["grid"][:20], tags
    kernel(body, "a, b, t")[1, 32](a, b, tags)
    np.testing.assert_array_equal(a, expected)


def test_a_record_fills_a_part_of_an_array() -> None:
    """a[1:4] = record, and a whole array of records within records."""
    a, pairs = sample(POINT, 6), np.zeros(4, np.dtype([("pair", POINT, (2,))], align=True))
    expected = a.copy()
    expected[1:4] = expected[5]
    kernel("if i == 0:\n    a[1:4] = a[5]\nif i < 4:\n    p[i].pair[:] = a[i]", "a, p")[1, 32](
        a, pairs
    )
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(pairs["pair"], np.repeat(a[:4], 2).reshape(4, 2))


@pytest.mark.parametrize("align", [True, False])
def test_complex_numbers_in_records(align: bool) -> None:
    """complex64 lies at a multiple of 4 in an aligned record."""
    dtype = np.dtype([("k", np.int32), ("c", np.complex64), ("d", np.complex128)], align=align)
    a = sample(dtype, 40)
    expected = a["c"].copy()
    if not align:  # d starts at byte 12, and Numba asks for a multiple of 8
        with pytest.raises(TypingError, match=r"a\.d of type complex128 is not aligned"):
            kernel("o[i] = a[i].d")[1, 32](a, np.zeros(40, complex))
    o = np.zeros(40, np.complex64)
    kernel("if i < 40:\n    a[i].c *= 2j\n    o[i] = a.c[i]")[2, 32](a, o)
    np.testing.assert_array_equal(a["c"], expected * 2j)
    np.testing.assert_array_equal(o, a["c"])


# -- memory -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [POINT, NESTED, PACKED], ids=["POINT", "NESTED", "PACKED"])
@pytest.mark.parametrize("order", ["lockstep", "warp-serial"])
def test_shared_and_local_arrays_of_records(dtype: np.dtype[Any], order: str) -> None:
    """A round trip through shared and local memory reverses each block."""
    body = """
s = cuda.shared.array(64, DTYPE)
mine = cuda.local.array((2, 3), dtype=DTYPE)
t = cuda.threadIdx.x
s[t] = a[i]
cuda.syncthreads()
mine[1, 2] = s[63 - t]
b[i] = mine[1, 2]
"""
    name = next(n for n, value in NAMES.items() if value is dtype)
    a = sample(dtype, 192)
    b = np.zeros_like(a)
    kernel(body.replace("DTYPE", name), "a, b").run(3, 64, (a, b), order=order)
    np.testing.assert_array_equal(b, a.reshape(3, 64)[:, ::-1].reshape(-1))


def test_dynamic_shared_memory_holds_records_too() -> None:
    """A record array over the bytes of the launch, which a plain array sees as well."""
    body = """
s = cuda.shared.array(0, dtype=FLOATS)
f = cuda.shared.array(0, dtype=np.float32)
t = cuda.threadIdx.x
s[t].y = i
cuda.syncthreads()
o[i] = f[4 * (31 - t) + 1] + s.size
"""
    o = np.zeros(64, np.float32)
    kernel(body, "o")[2, 32, 0, 32 * 16](o)
    expected = np.arange(64).reshape(2, 32)[:, ::-1].reshape(-1) + 32
    np.testing.assert_array_equal(o, expected)


def test_constant_records() -> None:
    """A global array of records is frozen, and cannot be stored into."""
    table = sample(POINT, 5)
    text = "@cuda.jit\ndef k(o):\n    i = cuda.grid(1)\n    if i < 5:\n        {}\n"
    o = np.zeros(5)
    read = text.format("o[i] = cuda.const.array_like(TABLE)[i].x + TABLE.y[i]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing changed, so no note says so
        Kernel.from_source(read, "k", {"TABLE": table})[1, 32](o)
    np.testing.assert_array_equal(o, table["x"] + table["y"])
    write = Kernel.from_source(text.format("TABLE[i].x = 1"), "k", {"TABLE": table})
    with pytest.raises(
        TypingError, match="TABLE is a constant of the kernel and cannot be changed"
    ):
        write[1, 32](o)


def test_one_record_as_an_argument() -> None:
    """By reference: stores come back, into the array the record is an element of, too."""
    a = sample(NESTED, 3)
    expected = a.copy()
    expected[1]["place"]["x"] += 1
    expected[1]["tags"][0] = 5
    o = np.zeros(1)
    kernel("r.place.x += 1\nr['tags'][0] = 5\no[0] = r.place.x", "r, o")[1, 1](a[1], o)
    np.testing.assert_array_equal(a, expected)
    assert o[0] == expected[1]["place"]["x"]
    record = np.rec.array(np.zeros(1, POINT))[0]
    kernel("r.k = 3", "r")[1, 1](record)
    assert record.k == 3


def test_records_go_to_device_functions_by_reference() -> None:
    """A device function can change a record, and return one."""
    text = """
@cuda.jit(device=True)
def bump(p, by):
    p.x += by
    return p

@cuda.jit(device=True)
def first(a, i):
    return a[i]

@cuda.jit
def k(a, o):
    i = cuda.grid(1)
    if i < a.size:
        q = bump(first(a, i), 2)
        o[i] = q.x
"""
    a, o = sample(POINT, 40), np.zeros(40)
    expected = a["x"] + 2
    Kernel.from_source(text, "k")[2, 32](a, o)
    np.testing.assert_array_equal(a["x"], expected)
    np.testing.assert_array_equal(o, expected)


def test_device_arrays_of_records() -> None:
    """Copies both ways, views that share memory, mapped memory, and a record of the device."""
    host = sample(POINT, 32)
    d = cuda.to_device(host)
    kernel("if i < b.size:\n    b[i].x = i\na[i].y = 2 * i", "a, b")[1, 32](d, d[1:])
    back = d.copy_to_host()
    np.testing.assert_array_equal(back["x"], [host["x"][0], *range(31)])
    np.testing.assert_array_equal(back["y"], 2.0 * np.arange(32))
    np.testing.assert_array_equal(host, sample(POINT, 32))
    mapped = cuda.mapped_array(4, POINT)
    kernel("if i < 4:\n    a[i].k = i", "a")[1, 32](mapped)
    np.testing.assert_array_equal(mapped["k"], range(4))


def test_a_record_on_the_device() -> None:
    """to_device of one record, as in Numba; the kernel changes it there."""
    d = cuda.to_device(sample(POINT, 2)[1])
    kernel("r.k = 77\nr['x'] += 1", "r")[1, 1](d)
    back = d.copy_to_host()
    assert (back["k"], back["x"]) == (77, sample(POINT, 2)[1]["x"] + 1)


def test_local_and_shared_records_start_undefined() -> None:
    """Each field for itself, in local memory, too."""
    body = "r = cuda.local.array(2, FLOATS)\nr[1].x = 1\no[i] = r[1].x + r[1].w"
    found = sanitize(kernel(body, "o")[1, 32], np.zeros(32))
    assert [(f.kind, f.array) for f in found] == [("uninitialised", "r.w")]


def test_records_in_shared_memory_conflict_as_their_bytes_lie() -> None:
    """Fields 16 bytes apart use every fourth bank; fields 4 bytes apart use all."""
    body = "s = cuda.shared.array(32, FLOATS)\ns[i].x = i\no[i] = s[i].x"
    report = profile(kernel(body, "o")[1, 32], np.zeros(32))
    assert (report.shared.requests, report.shared.wavefronts) == (2, 8)


def test_atomics_on_fields_that_lie_askew() -> None:
    """A GPU stops there."""
    dtype = np.dtype([("h", np.float32, (2,)), ("k", np.uint8)])
    with pytest.raises(MisalignedAddressError, match="an atomic operation on float32 at addresses"):
        kernel("cuda.atomic.add(a[i].h, 0, 1)", "a")[1, 4](np.zeros(4, dtype))


def test_atomics_on_fields() -> None:
    """Fields of arrays of records, and elements of array fields."""
    body = """
cuda.atomic.add(a.x, i % 2, 1)
cuda.atomic.max(a['k'], 0, i)
cuda.atomic.add(n[0].grid, (1, 1), 1)
old = cuda.atomic.exch(a.k, 1, i)
"""
    a, n = np.zeros(2, POINT), np.zeros(1, NESTED)
    kernel(body, "a, n")[2, 32](a, n)
    np.testing.assert_array_equal(a["x"], [32, 32])
    assert list(a["k"]) == [63, 63]
    assert n["grid"][0, 1, 1] == 64


# -- what observers see -----------------------------------------------------------


def test_an_array_of_structs_costs_more_sectors_than_fields_of_their_own() -> None:
    """32 floats that lie 16 bytes apart take 16 sectors; side by side they take 4."""
    a, o = sample(FLOATS, 64), np.zeros(64, np.float32)
    struct = profile(kernel("o[i] = a[i].x")[2, 32], a, o)
    assert (struct.loads.requests, struct.loads.sectors) == (2, 32)
    array = profile(kernel("o[i] = a[i]")[2, 32], np.ascontiguousarray(a["x"]), o)
    assert (array.loads.requests, array.loads.sectors) == (2, 8)
    both = profile(kernel("o[i] = a[i].x + a[i].w")[2, 32], a, o)
    assert both.unique_sectors["a"] == 32  # two fields of a record share its sector


def test_packed_records_move_by_byte_where_addresses_ask_for_it() -> None:
    """x of 5-byte records lies at odd addresses, so a warp needs four accesses of a byte."""
    a, o = sample(PACKED, 32), np.zeros(32)
    report = profile(kernel("o[i] = a[i].x")[1, 32], a, o)
    assert report.loads.requests == 4
    assert any("made without align=True" in note.text for note in report.notes)
    with pytest.raises(MisalignedAddressError) as caught:
        kernel("o[i] = a.x[i]")[1, 32](a, o)
    assert str(caught.value) == (
        "k: a.x holds float32 at addresses that are no multiples of 4\n"
        "  line 4:  o[i] = a.x[i]\n"
        "  On a GPU this stops the kernel: misaligned address. Make the records with "
        "np.dtype([...], align=True)."
    )


def test_aligned_and_packed_records_of_one_layout_are_two_types() -> None:
    """NumPy calls the dtypes equal; compiled code reads one of them byte by byte."""
    o = np.zeros(32)
    for align in (True, False, True):
        a = np.zeros(32, np.dtype([("x", np.float32), ("k", np.int32)], align=align))
        notes = profile(kernel("o[i] = a[i].x")[1, 32], a, o).notes
        assert [note.kind for note in notes] == ["packed_record"] * (not align)


def test_the_sanitizer_takes_each_field_for_itself() -> None:
    """Neighbouring fields never race; the same field of one record does, and is named."""
    a = sample(FLOATS, 64)
    assert sanitize(kernel("a[i].x = a[(i + 1) % 64].y", "a")[1, 64], a) == []
    found = sanitize(kernel("a[i].x = a[(i + 32) % 64].x", "a")[1, 64], a)
    assert [(f.kind, f.array, f.severity) for f in found] == [("race", "a.x", "error")]
    shared = "s = cuda.shared.array(64, FLOATS)\ns[i].x = i\na[i].x = s[63 - i].x\na[i].y = s[i].y"
    kinds = {(f.kind, f.array) for f in sanitize(kernel(shared, "a")[1, 64], a)}
    assert kinds == {("race", "s.x"), ("uninitialised", "s.y")}
    fresh = cuda.device_array(64, FLOATS)
    found = sanitize(kernel("a[i].x = 1\na[i].y = a[i].x + a[i].z", "a")[1, 64], fresh)
    assert [(f.kind, f.array) for f in found] == [("uninitialised", "a.z")]


def test_a_race_on_one_record_is_named_without_an_index() -> None:
    """A record that is an argument has fields and no index."""
    (found,) = sanitize(kernel("r.x = i", "r")[1, 32], np.zeros(1, FLOATS)[0])
    assert found.text.startswith("k: race on r.x: thread 1 writes it in line 4, thread 0 wrote it")


def test_records_that_the_host_made_read_only() -> None:
    """They can be read; stores say what to do."""
    a = sample(POINT, 4)
    a.flags.writeable = False
    with pytest.raises(TypingError) as caught:
        kernel("a[i].x = 1", "a")[1, 4](a)
    assert "a is read-only on the host, so no kernel can change it" in str(caught.value)


def test_the_census_counts_records() -> None:
    """Reads and writes of any field, per record."""
    a, o = sample(NESTED, 32), np.zeros(32)
    census = Census()
    kernel("o[i] = a[i].place.x + a[0].grid[1, 1]\na[i].on = True").run(1, 32, (a, o), [census])
    np.testing.assert_array_equal(census.reads["a"], [33, *[1] * 31])
    np.testing.assert_array_equal(census.writer["a"], np.arange(32))


def test_a_bad_index_is_reported_where_the_record_is_used() -> None:
    """Naming a record touches no memory; its fields do."""
    a = sample(POINT, 40)
    kernel("p = a[i]\nif i < 40:\n    p.x = 1", "a")[2, 32](a)
    with pytest.raises(OutOfBoundsError) as caught:
        kernel("p = a[i]\np.x = 1", "a")[2, 32](a)
    assert "out-of-bounds store  a.x[40], a.x has shape (40,)" in str(caught.value)
    assert caught.value.count == 24


# -- refusals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("o[0] = a[0].q", "a has no field q; it has x, y, k"),
        ("a[0]['q'] = 1", "a has no field q; it has x, y, k"),
        ("o[0] = a[0][3]", "a has 3 fields, none with number 3"),
        ("o[0] = a[0][i]", "a field of a is named by a constant, such as a['x']"),
        ("o[0] = a[0]", "record(x, y, k) cannot be stored into o"),
        ("a[0] = 1", "int64 cannot be stored into a"),
        ("a[0] = (1, 2, 3)", "(int64, int64, int64) cannot be stored into a"),
        ("a[0] = b[0]", "record(x, y, z, w) cannot be stored into a"),
        ("o[0] = a[0] == a[1]", "== does not take record(x, y, k) and record(x, y, k)"),
        ("if a[0]:\n    pass", "record(x, y, k) cannot be used as a condition"),
        ("o[0] = len(a[0])", "len() of record(x, y, k)"),
        ("a['x'] = o", "an index of a is something that is no number; it has to be an integer"),
        ("a[0].x = a", "array(record(x, y, k), 1d) cannot be stored into a.x"),
        ("o.x = 1", "o is array(float64, 1d); only fields of records can be assigned to"),
        ("a.x = 1", "a is array(record(x, y, k), 1d); only fields of records can be assigned to"),
        ("i.x += 1", "i is int64; only fields of records can be assigned to"),
        ("p = a[0] if i else b[0]", "the two sides of the conditional are record(x, y, k) and "
         "record(x, y, z, w)"),
    ],
)  # fmt: skip
def test_what_numba_refuses(body: str, expected: str) -> None:
    """Each with the reader's own names."""
    with pytest.raises(SimtError) as caught:
        kernel(body, "a, b, o")[1, 1](np.zeros(3, POINT), np.zeros(3, FLOATS), np.zeros(3))
    assert str(caught.value).splitlines()[0] == f"k: {expected}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a[0].grid = o", "a.grid is array(float32, 2d), and takes an array of that type, not "
         "array(float64, 1d)"),
        ("a[0].place = 1", "int64 cannot be stored into a.place"),
        ("a[0].grid = a[0].tags", "a.grid is array(float32, 2d), and takes an array of that type, "
         "not array(int16, 1d)"),
    ],
)  # fmt: skip
def test_what_nested_fields_refuse(body: str, expected: str) -> None:
    """Array fields take arrays of their type, records take records."""
    with pytest.raises(SimtError) as caught:
        kernel(body)[1, 1](np.zeros(3, NESTED), np.zeros(3))
    assert str(caught.value).splitlines()[0] == f"k: {expected}"


def test_an_array_field_takes_an_array_of_its_shape() -> None:
    """Another shape is refused at run time."""
    with pytest.raises(
        UnsupportedError, match=r"array of shape \[2\] cannot be filled from one of"
    ):
        kernel("a[0].tags = t", "a, t")[1, 1](np.zeros(1, NESTED), np.zeros(3, np.int16))


def test_unaligned_fields_are_refused_as_in_numba() -> None:
    """A field has to start at a multiple of its size within the record."""
    dtype = np.dtype([("k", np.int32), ("x", np.float64)])
    with pytest.raises(TypingError) as caught:
        kernel("o[i] = a[i].x")[1, 1](np.zeros(3, dtype), np.zeros(3))
    assert str(caught.value) == (
        "k: a.x of type float64 is not aligned: it starts at byte 4 of the record\n"
        "  line 4:  o[i] = a[i].x\n"
        "  Make the records with np.dtype([...], align=True)."
    )
