"""`from warpwise import cuda`: numba.cuda where a GPU works, the simulator's module elsewhere.

This module replaces itself by the one it chose, so that the names are the real ones.
"""

import sys

from .machine import chosen_module

sys.modules[__name__] = chosen_module()
