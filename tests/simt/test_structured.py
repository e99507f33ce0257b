"""Vector types, enums, namedtuples, dates and cuda.random."""

from __future__ import annotations

import collections
import enum
import importlib.util
import typing
from typing import Any

import numpy as np
import pytest

from warpwise.simt import Kernel, LaunchError, SimtError, TypingError, install, uninstall
from warpwise.simt import api as cuda
from warpwise.simt.symbols import VECTORS


class Color(enum.Enum):
    red = 1
    green = 2


class Planet(enum.Enum):
    EARTH = (5.5, 6)
    MARS = (0.5, 3)


class Mixed(enum.Enum):
    whole = 1
    half = 0.5


class Shape(enum.IntEnum):
    circle = 2
    square = 5


Point = collections.namedtuple("Point", "x y")


class Box(typing.NamedTuple):
    data: Any
    origin: Any


NAMES = {
    "Color": Color, "Planet": Planet, "Mixed": Mixed, "Shape": Shape, "Point": Point,
    "HERE": Point(3, 0.5), "DAY": np.timedelta64(1, "D"), "START": np.datetime64("2020-02-28"),
}  # fmt: skip


def kernel(body: str, parameters: str = "o") -> Kernel:
    """A kernel k with this body; `i` is the thread."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"@cuda.jit\ndef k({parameters}):\n    i = cuda.grid(1)\n{lines}"
    return Kernel.from_source("from numba import int32\n" + text, "k", NAMES)


def one(body: str, n: int = 1, parameters: str = "o", *args: Any) -> list[float]:
    """What a single thread stores into `o`, an array of n float64."""
    o = np.zeros(n)
    kernel(body, parameters)[1, 1](*args, o)
    return o.tolist()


# -- vector types -----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_every_vector_type_and_every_other_name(name: str) -> None:
    """Components are converted to the vector's type, as a C cast does it."""
    n, base = int(VECTORS[name][-1]), VECTORS[name][:-2]
    given = [1.75, -1, 3, 300][:n]
    body = f"v = cuda.{name}({', '.join(map(str, given))})\n" + "".join(
        f"o[{k}] = v.{axis}\n" for k, axis in enumerate("xyzw"[:n])
    )
    expected = [np.array(int(g) if "int" in base else g).astype(base) for g in given]
    assert one(body, n) == [float(e) for e in expected]
    assert getattr(cuda, name) is not None


def test_vectors_are_made_of_vectors() -> None:
    """Any mix of numbers and shorter vectors that gives the right number of components."""
    body = """
a = cuda.float1(1)
b = cuda.float32x2(a, 2)
c = cuda.float3(b, 3)
d = cuda.float4(a, b, a)
e = cuda.float4(c, 9)
f = cuda.float4(e)
o[0] = c.x + 10 * c.y + 100 * c.z
o[1] = d.x + 10 * d.y + 100 * d.z + 1000 * d.w
o[2] = f.x + 10 * f.y + 100 * f.z + 1000 * f.w
"""
    assert one(body, 3) == [321, 1211, 9321]


def test_vectors_differ_from_thread_to_thread() -> None:
    """In variables under conditions, in tuples, in a loop over a tuple, out of a function."""
    text = """
@cuda.jit(device=True)
def turned(v):
    return cuda.int2(-v.y, v.x)

@cuda.jit
def k(o):
    i = cuda.grid(1)
    v = cuda.int2(i, 2 * i)
    if i % 2:
        v = turned(v)
    pair = (v, i)
    total = 0
    for w in (v, cuda.int2(1, 1), pair[0]):
        total += w.x * w.y
    o[i] = total
"""
    o = np.zeros(40)
    Kernel.from_source(text, "k")[1, 40](o)
    i = np.arange(40)
    np.testing.assert_array_equal(o, np.where(i % 2, -1, 1) * 4 * i * i + 1)


def test_shared_and_local_arrays_of_vectors() -> None:
    """Numba takes its own type object, not the name in cuda."""
    from numba.cuda.vector_types import vector_types

    text = """
@cuda.jit
def k(o):
    s = cuda.shared.array(32, FLOAT3)
    mine = cuda.local.array(2, FLOAT3)
    i = cuda.grid(1)
    s[i] = cuda.float3(i, 2 * i, 3 * i)
    cuda.syncthreads()
    mine[1] = s[31 - i]
    o[i] = mine[1].x + mine[1].z
"""
    o = np.zeros(32)
    Kernel.from_source(text, "k", {"FLOAT3": vector_types["float32x3"]})[1, 32](o)
    np.testing.assert_array_equal(o, 4 * np.arange(32)[::-1])
    with pytest.raises(TypingError, match=r"cuda\.shared\.array takes a type here"):
        one("s = cuda.shared.array(32, cuda.float3)")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v = cuda.float2(1)", "cuda.float2 cannot be made of (int64)"),
        ("v = cuda.float2(1, 2, 3)", "cuda.float2 cannot be made of (int64, int64, int64)"),
        ("v = cuda.float2(cuda.int2(1, 2))", "cuda.float2 cannot be made of (int32x2)"),
        ("v = cuda.float2(1j, 2)", "cuda.float2 cannot be made of (complex128, int64)"),
        ("v = cuda.float2(x=1, y=2)", "cuda.float2 takes its components by position"),
        ("o[0] = cuda.float2(1, 2).z", "float32x2 has no .z; it has .x, .y"),
        ("v = cuda.float2(1, 2)\nv.x = 3", "v is float32x2; only fields of records can be assigned "
         "to"),
        ("v = cuda.float2(1, 2)\no[0] = v[0]", "float32x2 is a number and cannot be indexed"),
        ("v = cuda.float2(1, 2)\nw = v + v", "+ does not take float32x2 and float32x2"),
        ("v = cuda.float2(1, 2)\nx, y = v", "float32x2 cannot be unpacked"),
        ("v = cuda.float2(1, 2)\no[0] = v", "float32x2 cannot be stored into o"),
        ("v = cuda.float2(1, 2)\nif i:\n    v = cuda.float4(v, v)\no[0] = v.x",
         "v is float32x4 on one path and float32x2 on another"),
    ],
)  # fmt: skip
def test_what_vectors_refuse(body: str, expected: str) -> None:
    """Components are read, never changed; there is no arithmetic: as in Numba."""
    with pytest.raises(SimtError) as caught:
        one(body)
    assert str(caught.value).splitlines()[0] == f"k: {expected}"


# -- enums ------------------------------------------------------------------------


def test_members_are_compared() -> None:
    """==, !=, is, in; constants, arguments and both; values that are tuples."""
    body = """
o[0] = c == Color.red
o[1] = c != Color.red
o[2] = c is Color.green
o[3] = Color['red'] is not Color.red
d = Color.red if i == 0 else c
o[4] = d == Color.red
o[5] = c in (Color.red, Color.green)
o[6] = p == Planet.EARTH
o[7] = p is Planet.MARS
o[8] = Shape.circle is c
o[9] = Color.green.value + c.value
"""
    got = one(body, 10, "c, p, o", Color.green, Planet.MARS)
    assert got == [0, 1, 1, 0, 1, 1, 0, 1, 0, 4]


def test_members_of_an_int_enum_are_integers() -> None:
    """In arithmetic, comparisons, casts, ranges and stores; unified with other integers."""
    body = """
o[0] = s + Shape.circle
o[1] = s > Shape.circle
o[2] = int32(s) * 2
for j in range(Shape.circle):
    o[3] += 1
x = s
if i > 5:
    x = 7
o[4] = x
w[0] = s
o[5] = s == 5
"""
    w = np.zeros(1, np.int16)
    assert one(body, 6, "s, w, o", Shape.square, w) == [7, 1, 10, 2, 5, 1]
    assert w[0] == 5


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("o[0] = c + 1", "Numba has no + for a member of Color and int64"),
        ("o[0] = c < Color.red", "Numba has no < for a member of Color and a member of Color"),
        ("o[0] = c == 1", "Numba has no == for a member of Color and int64"),
        ("o[0] = c == Shape.circle", "Numba has no == for a member of Color and a member of Shape"),
        ("o[0] = c", "a member of Color cannot become float64"),
        ("o[0] = s", "a member of Shape cannot become float64"),
        ("o[s] = 1", "an index of o has type a member of Shape; it has to be an integer"),
        ("if c:\n    pass", "a member of Color cannot be used as a condition"),
        ("o[0] = c.name == 'red'", "a kernel can ask a member of Color for .value, not for .name"),
        ("o[0] = Color['blue'].value", "Color has no member blue; it has red, green"),
        ("o[0] = Mixed.half.value", "Mixed.half cannot be used in a kernel: the members of Mixed "
         "have values of different types"),
    ],
)  # fmt: skip
def test_what_enums_refuse(body: str, expected: str) -> None:
    """As Numba does."""
    with pytest.raises(SimtError) as caught:
        one(body, 9, "c, s, o", Color.red, Shape.circle)
    assert str(caught.value).splitlines()[0] == f"k: {expected}"


# -- namedtuples ------------------------------------------------------------------


def test_namedtuples() -> None:
    """As arguments, globals and made in the kernel; fields, items, length, comparison."""
    body = """
o[0] = p.x + p[1]
q = Point(p.y, x) if False else Point(y=p.x, x=p.y)
o[1] = q.x * 10 + q.y
a, b = q
o[2] = a + len(q)
o[3] = HERE.x + HERE.y
o[4] = Point(1, 2) == (1, 2)
r = p
if i == 0:
    r = Point(9, p.y)
o[5] = r.x
"""
    assert one(body.replace("Point(p.y, x) if False else ", ""), 6, "p, o", Point(4, 2.5)) == [
        6.5, 29, 4.5, 3.5, 1, 9,
    ]  # fmt: skip


def test_a_namedtuple_of_arrays_is_copied_back() -> None:
    """The typing.NamedTuple form, with an array and a record of another dtype in it."""
    dtype = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
    box = Box(np.zeros(40), np.zeros(1, dtype))
    kernel("box.data[i] = 2 * i\nif i == 0:\n    box.origin[0].a = 5", "box")[1, 40](box)
    np.testing.assert_array_equal(box.data, 2.0 * np.arange(40))
    assert box.origin[0]["a"] == 5


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("o[0] = p.z", "Point has no field z; it has x, y"),
        ("p.x = 1", "p is Point(x: int64, y: float64); only fields of records can be assigned to"),
        ("q = Point(1)", "Point takes 2 values (x, y), got 1"),
        ("q = Point(1, 2, 3)", "Point takes 2 values (x, y), got 3"),
        ("q = Point(1, z=2)", "Point has no free field z"),
        ("q = p\nif i:\n    q = (1, 2.0)\no[0] = q[0]", "q is (int64, float64) on one path and "
         "Point(x: int64, y: float64) on another"),
    ],
)  # fmt: skip
def test_what_namedtuples_refuse(body: str, expected: str) -> None:
    """Each by the reader's own names."""
    with pytest.raises(SimtError) as caught:
        one(body, 1, "p, o", Point(1, 2.0))
    assert str(caught.value).splitlines()[0] == f"k: {expected}"


# -- dates ------------------------------------------------------------------------


@pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"), reason="needs the numba-cuda wheel (Linux, Windows)"
)
def test_dates_and_durations() -> None:
    """Differences, sums, products, comparisons; units are converted as NumPy does it."""
    days = np.array(["2020-01-05", "2021-03-04", "NaT"], "M8[D]")
    hours = np.array(["2020-01-01T12", "2021-03-05T00", "2000-01-01T00"], "M8[h]")
    o, later = np.zeros(3, "m8[h]"), np.zeros(3, "M8[D]")
    less, count, ratio = np.zeros(3), np.zeros(3, np.int64), np.zeros(3)
    body = """
if i < 3:
    o[i] = days[i] - hours[i]
    later[i] = days[i] + DAY * 2
    less[i] = days[i] < hours[i]
    count[i] = int(o[i])
    ratio[i] = o[i] / DAY
    if days[i] >= START:
        later[i] = max(days[i], START) - DAY
"""
    launch = kernel(body, "days, hours, o, later, less, count, ratio")[1, 32]
    launch(days, hours, o, later, less, count, ratio)
    np.testing.assert_array_equal(o, days - hours)
    start, day = np.datetime64("2020-02-28"), np.timedelta64(1, "D")
    np.testing.assert_array_equal(later, np.where(days >= start, days - day, days + 2 * day))
    np.testing.assert_array_equal(less, days < hours)
    np.testing.assert_array_equal(count, o.astype(np.int64))
    np.testing.assert_array_equal(ratio, (days - hours) / day)


def test_a_date_as_an_argument_and_in_a_record() -> None:
    """Scalars and fields."""
    dtype = np.dtype([("when", "M8[s]"), ("k", np.int32)], align=True)
    a = np.zeros(3, dtype)
    start = np.datetime64("2021-05-06T07:08:09")
    kernel("if i < 3:\n    a[i].when = start\n    a[i].k = a[i].when == start", "a, start")[1, 32](
        a, start
    )
    assert (a["when"] == start).all()
    assert list(a["k"]) == [1, 1, 1]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("d[0] = d[0] + d[1]", "Numba has no + for datetime64[D] and datetime64[D]"),
        ("d[0] = 5", "int64 cannot become datetime64[D]"),
        ("o[0] = d[0]", "datetime64[D] cannot become float64"),
        ("if d[0]:\n    pass", "datetime64[D] cannot be used as a condition"),
        ("s = cuda.shared.array(4, np.dtype('m8[D]'))", "np.dtype makes or changes whole arrays; "
         "kernels cannot"),
    ],
)  # fmt: skip
def test_what_dates_refuse(body: str, expected: str) -> None:
    """As Numba does."""
    with pytest.raises(SimtError) as caught:
        one(body, 1, "d, o", np.zeros(3, "M8[D]"))
    assert str(caught.value).splitlines()[0] == f"k: {expected}"


def test_strings_are_refused_with_a_sentence() -> None:
    """Arrays of strings and bytes cannot be passed."""
    for array in (np.array(["ab"]), np.array([b"ab"])):
        with pytest.raises(LaunchError, match=r"an array of strings \(.*\) cannot be passed to a "):
            kernel("pass", "a")[1, 1](array)


# -- cuda.random ------------------------------------------------------------------

MASK = 2**64 - 1


def _splitmix(seed: int) -> tuple[int, int]:
    z = (seed + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    z ^= z >> 31
    return z, z


def _rotated(x: int, k: int) -> int:
    return (x << k | x >> (64 - k)) & MASK


def _next(s0: int, s1: int) -> tuple[int, tuple[int, int]]:
    """xoroshiro128+ of 2016 by Blackman and Vigna: a = 55, b = 14, c = 36."""
    result = (s0 + s1) & MASK
    s1 ^= s0
    return result, (_rotated(s0, 55) ^ s1 ^ (s1 << 14) & MASK, _rotated(s1, 36))


def _jumped(state: tuple[int, int]) -> tuple[int, int]:
    """2**64 steps on."""
    s0 = s1 = 0
    for word in (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922):
        for bit in range(64):
            if word >> bit & 1:
                s0, s1 = s0 ^ state[0], s1 ^ state[1]
            state = _next(*state)[1]
    return s0, s1


def _states(n: int, seed: int, start: int = 0) -> list[tuple[int, int]]:
    state = _splitmix(seed)
    for _ in range(start):
        state = _jumped(state)
    found = [state]
    while len(found) < n:
        found.append(_jumped(found[-1]))
    return found


@pytest.mark.parametrize(("seed", "start"), [(1, 0), (2**63, 3)])
def test_states_are_those_of_the_algorithm(seed: int, start: int) -> None:
    """SplitMix64 of the seed, then one jump from each to the next."""
    states = cuda.random.create_xoroshiro128p_states(5, seed, start).copy_to_host()
    assert [tuple(map(int, state)) for state in states] == _states(5, seed, start)


def test_uniform_numbers_equal_the_algorithm_bit_for_bit() -> None:
    """float64 takes the upper 53 bits; the states go on from launch to launch."""
    text = """
@cuda.jit
def k(states, o, f):
    i = cuda.grid(1)
    if i < states.size:
        for j in range(o.shape[1]):
            o[i, j] = cuda.random.xoroshiro128p_uniform_float64(states, i)
        f[i] = cuda.random.xoroshiro128p_uniform_float32(states, i)
"""
    states = cuda.random.create_xoroshiro128p_states(40, 7)
    draw = Kernel.from_source("from warpwise import cuda\n" + text, "k")
    expected = _states(40, 7)
    for _ in range(2):
        o, f = np.zeros((40, 3)), np.zeros(40, np.float32)
        draw[2, 32](states, o, f)
        for i in range(40):
            row = []
            for _ in range(4):
                number, expected[i] = _next(*expected[i])
                row.append((number >> 11) * 2.0**-53)
            assert o[i].tolist() == row[:3]
            assert f[i] == np.float32(row[3])


def test_normal_numbers_are_box_muller_of_two_uniform_ones() -> None:
    """sqrt(-2 ln u1) cos(2 pi u2), and the shape of the distribution.  Numba draws the two uniform
    numbers in float32, for float64, too."""
    text = """
from numba.cuda.random import xoroshiro128p_normal_float64, xoroshiro128p_normal_float32
@cuda.jit
def k(states, o, f):
    i = cuda.grid(1)
    o[i] = xoroshiro128p_normal_float64(states, i)
    f[i] = xoroshiro128p_normal_float32(states, i)
"""
    n = 4096
    states = cuda.random.create_xoroshiro128p_states(n, 11)
    before = states.copy_to_host()
    o, f = np.zeros(n), np.zeros(n, np.float32)
    Kernel.from_source(text, "k")[n // 256, 256](states, o, f)
    for i in range(3):
        state = (int(before[i]["s0"]), int(before[i]["s1"]))
        u1, state = _next(*state)
        u2, state = _next(*state)
        a, b = (float(np.float32((u >> 11) * 2.0**-53)) for u in (u1, u2))
        np.testing.assert_allclose(o[i], np.sqrt(-2 * np.log(a)) * np.cos(2 * np.pi * b), 1e-6)
    for sample in (o, f):
        assert abs(sample.mean()) < 5 / np.sqrt(n)
        assert abs(sample.std() - 1) < 5 / np.sqrt(2 * n)


def test_numbas_own_module_makes_states_here() -> None:
    """`from numba.cuda.random import create_xoroshiro128p_states` needs no GPU."""
    from numba.cuda.random import create_xoroshiro128p_states

    install()
    try:
        states = create_xoroshiro128p_states(3, seed=5)
    finally:
        uninstall()
    assert [tuple(map(int, state)) for state in states.copy_to_host()] == _states(3, 5)
