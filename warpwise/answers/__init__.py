"""One kernel, four answers: counted, compiled, modelled, measured, side by side.

explain(saxpy[blocks, threads], out, x, y, a, device="A100")
compare({"naive": (naive[grid, block], out, x), "tiled": (tiled[grid, block], out, x)})
"""

from .explanation import Explanation, explain
from .ladder import Ladder, compare

__all__ = ["Explanation", "Ladder", "compare", "explain"]
