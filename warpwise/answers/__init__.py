"""One kernel, four answers: counted, compiled, modelled, measured, side by side.

explain(saxpy[blocks, threads], out, x, y, a, device="A100")
profile(saxpy[blocks, threads], out, x, y, a)     # the counters alone; on a GPU with its time
host_ops(program, arrays)         # the calls of a host program, for timeline(...) and races(...)
compare({"naive": (naive[grid, block], out, x), "tiled": (tiled[grid, block], out, x)})
"""

from .explanation import Explanation, explain
from .host_program import host_ops, ops_of, recorded
from .ladder import Ladder, compare
from .profiling import profile

__all__ = [
    "Explanation", "Ladder", "compare", "explain", "host_ops", "ops_of", "profile", "recorded",
]  # fmt: skip
