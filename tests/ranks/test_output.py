"""What ranks print is shown by rank, whole where it fits, whoever printed it."""

import functools
import os
import subprocess
import sys

import torch.distributed as dist

from warpwise.ranks import run_ranks
from warpwise.ranks.output import HEAD, TAIL, Transcript, by_rank, ranks_text

run = functools.partial(run_ranks, echo=False)


def test_all_that_a_rank_prints_is_kept():
    """Python's two streams, the descriptors (as C++ uses them), C's buffer, children."""

    def talk():
        import ctypes

        print("python")
        print("error", file=sys.stderr)
        os.write(1, b"descriptor\n")
        ctypes.CDLL(None).puts(b"c library")
        subprocess.run(["echo", "child"], check=True)
        ctypes.CDLL(None).fflush(None)
        print("no newline", end="")

    [text] = run(talk, 1).output
    lines = text.splitlines()
    assert sorted(lines) == ["c library", "child", "descriptor", "error", "no newline", "python"]
    assert lines[:3] == ["python", "error", "descriptor"]


def test_output_of_a_rank_that_dies_is_kept():
    """The last line before the end is the one that helps."""

    def work():
        print("before", flush=True)
        os._exit(1)

    assert run_ranks(work, 2, echo=False, raises=False).output == ["before\n", "before\n"]


def test_output_is_printed_by_rank(capsys):
    """Rank after rank; ranks that printed the same are shown once."""
    run_ranks(lambda: print("hello"), 3)
    assert capsys.readouterr().out == "[all 3 ranks] hello\n"
    run_ranks(lambda: print("a", dist.get_rank(), "\nb"), 2)
    assert capsys.readouterr().out == "[rank 0] a 0 \n[rank 0] b\n[rank 1] a 1 \n[rank 1] b\n"
    run_ranks(lambda: None, 2)
    assert capsys.readouterr().out == ""


def test_output_may_be_live(capsys):
    """Lines come as they are printed, each with its rank."""

    def talk():
        dist.barrier()
        if dist.get_rank() == 1:
            print("one")
        dist.barrier()
        print("end", end="")

    run_ranks(talk, 2, echo="live")
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == ["[rank 0] end", "[rank 1] end", "[rank 1] one"]


def test_a_flood_is_kept_in_bounded_memory():
    """Of 100 MB the beginning and the end are kept, with a note between them."""

    def flood():
        print("first line")
        line = "x" * 999 + "\n"
        for _ in range(100):
            sys.stdout.write(line * 1000)
        print("last line")

    [text] = run(flood, 1).output
    assert text.startswith("first line\n") and text.endswith("last line\n")
    assert "\n... 99.9 MB left out ...\n" in text
    assert len(text) < 2 * (HEAD + TAIL)


def test_a_transcript_is_whole_up_to_its_size():
    """Nothing is lost or doubled at the edges."""
    for sizes in ([10], [HEAD], [HEAD, TAIL], [HEAD - 1, 2, TAIL - 1], [HEAD + TAIL]):
        transcript, all_bytes = Transcript(), b""
        for k, size in enumerate(sizes):
            piece = bytes([65 + k]) * size
            transcript.add(piece)
            all_bytes += piece
        assert transcript.text() == all_bytes.decode(), sizes
    transcript = Transcript()
    for k in range(300):
        transcript.add(f"{k:06d}\n".encode() * 1000)
    assert transcript.text().endswith("000299\n") and "left out" in transcript.text()
    assert len(transcript.text()) <= HEAD + TAIL + 40


def test_ranks_have_short_names():
    """Runs of ranks are spans."""
    assert ranks_text([2], 4) == "rank 2"
    assert ranks_text([0, 1, 2, 3], 4) == "all 4 ranks"
    assert ranks_text([0, 1, 3, 5, 6], 8) == "ranks 0-1, 3, 5-6"
    assert ranks_text([0], 1) == "rank 0"


def test_progress_bars_keep_their_last_state():
    """A carriage return overwrites the line."""
    assert by_rank(["10%\r50%\r100%\n", ""]) == "[rank 0] 100%"
