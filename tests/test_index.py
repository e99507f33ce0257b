"""The index: every word of the subject has its place, and every link leads to a lesson."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpwise import curriculum, workspace
from warpwise.authoring import index
from warpwise.setup.start_page import build_page

COURSE = curriculum.load()
PAGE = index.page_of(workspace.ROOT)
TEXT = PAGE.read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?!word|---)(.+?) \| (.+?) \|$", re.MULTILINE)
UNIT = re.compile(r"`(t\d_\d\d_\w+)`")

#: What the course set out to teach about many GPUs.
SEEDS = {
    "NCCL": "t3_01_collectives", "all-reduce": "t3_02_ring", "all-gather": "t3_01_collectives",
    "reduce-scatter": "t3_01_collectives", "ring": "t3_02_ring", "overlap": "t3_06_data_parallel",
    "hierarchical": "t3_04_topologies", "tensor parallelism": "t3_08_tensor_parallel",
    "pipeline parallelism": "t3_10_pipeline", "data parallelism": "t3_06_data_parallel",
    "sequence parallelism": "t3_09_sequence_parallel", "ZeRO": "t3_07_zero", "FSDP": "t3_07_zero",
    "microbatch scheduling": "t3_10_pipeline", "bubbles": "t3_10_pipeline",
    "MoE": "t3_12_expert_parallel", "interconnects": "t3_03_bus_bandwidth",
    "launch overhead": "t1_12_launches", "transfers": "t1_12_launches",
    "stragglers": "t3_05_deadlocks", "imbalance": "t3_12_expert_parallel",
}  # fmt: skip
#: What stands in a lesson where it does not use the word itself.
STEMS = {
    "interconnects": "nvlink", "microbatch scheduling": "schedule", "transfers": "cop",
    "hierarchical": "two level", "launch overhead": "launch", "MoE": "mixture", "imbalance": "skew",
}  # fmt: skip


def rows() -> dict[str, list[str]]:
    """Words of a row, in small letters -> its units."""
    return {words.lower(): UNIT.findall(units) for words, units in ROW.findall(TEXT)}


@pytest.mark.parametrize("word", SEEDS)
def test_every_seed_word_stands_in_it_with_its_unit(word: str) -> None:
    found = [units for words, units in rows().items()
             if re.search(rf"(?<![\w-]){re.escape(word.lower())}(?![\w-])", words)]  # fmt: skip
    assert any(SEEDS[word] in units for units in found)


@pytest.mark.parametrize("word", SEEDS)
def test_a_written_unit_really_speaks_of_its_word(word: str) -> None:
    """In its lesson; a word may be split (all reduce) or stand with another ending."""
    unit = next(unit for unit in COURSE.units if unit.name == SEEDS[word])
    if unit in COURSE.planned:
        pytest.skip(f"{unit.name} is planned")
    text = unit.lesson_source.read_text(encoding="utf-8").lower()
    stem = STEMS.get(word, word.lower())
    assert re.sub(r"[\W_]+", "", stem.rstrip("s")) in re.sub(r"[\W_]+", "", text)


def test_every_unit_of_the_course_stands_in_it_and_no_other() -> None:
    named = {name for units in rows().values() for name in units}
    assert named == {unit.name for unit in COURSE.units}


def test_links_lead_to_all_written_lessons_in_the_course_and_in_a_copy(tmp_path: Path) -> None:
    assert index.stale(workspace.ROOT) is None, "make build"
    links = re.findall(r"\[`(\w+)`\]\((.+?)\)", TEXT)
    assert {name for name, _ in links} == {unit.name for unit in COURSE.written}
    laid = workspace.course_files(workspace.ROOT)
    assert laid["index.md"] == PAGE
    for name, address in links:
        assert (PAGE.parent / address).is_file() and Path(address).stem == name
        assert address in laid


def test_the_builder_links_what_is_written_and_unlinks_what_is_not() -> None:
    written, planned = COURSE.written[0].name, "t9_01_never"
    text = f"`{written}`, [`{planned}`](x/y.ipynb), `{planned}`, `a_word`"
    new = index.linked(text, COURSE)
    assert new == f"[`{written}`]({COURSE.written[0].tier}/{written}.ipynb), `{planned}`, " + (
        f"`{planned}`, `a_word`"
    )
    assert index.linked(new, COURSE) == new


def test_the_start_page_leads_to_it() -> None:
    page = workspace.ROOT / "mine" / "START.md"
    assert "[index](index.md)" in build_page(page, COURSE.written, "sim", [])
