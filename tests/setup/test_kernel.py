"""The Jupyter kernel of the course: notebooks that know nothing of it run, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from warpwise.setup.kernel import AfterNumba, use_simulator_without_gpu
sys.meta_path.insert(0, AfterNumba(use_simulator_without_gpu))
{imports}
import numpy as np, linecache
text = "@cuda.jit\\ndef k(out):\\n    i = cuda.grid(1)\\n    out[i] = i\\n"
linecache.cache["<cell>"] = (len(text), None, text.splitlines(True), "<cell>")
exec(compile(text, "<cell>", "exec"))
out = np.zeros(3)
k[1, 3](out)
print(out.tolist(), type(k).__module__)
"""


def run(imports: str) -> str:
    """Output of a process that watches the import and then runs a kernel."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(imports=imports)],
        capture_output=True, text=True, check=True,
        env={**__import__("os").environ, "WARPWISE_BACKEND": "sim"},
    )  # fmt: skip
    return done.stdout.strip()


@pytest.mark.slow
def test_numba_cuda_alone_is_enough() -> None:
    """`from numba import cuda`, `import numba.cuda`, and both orders with ours."""
    for imports in (
        "from numba import cuda",
        "import numba.cuda\ncuda = numba.cuda",
        "from numba import cuda\nfrom warpwise import check",
        "from warpwise import check\nfrom numba import cuda",
    ):
        assert run(imports) == "[0.0, 1.0, 2.0] warpwise.simt.kernel", imports
