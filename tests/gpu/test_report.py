"""The report's program on a machine without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu import report
from warpwise import backend


@pytest.mark.skipif(backend() == "gpu", reason="a GPU is here")
def test_without_a_gpu_no_report_is_written(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Exit status 3, a sentence, no file."""
    out = tmp_path / "REPORT.md"
    assert report.main(["--out", str(out)]) == 3
    assert "Nothing was measured" in capsys.readouterr().err
    assert not out.exists()


def test_the_committed_report_says_whether_it_was_measured() -> None:
    """Either a device in its title, or that there is none yet."""
    first = report.REPORT.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# GPU report: ")
