"""Number formats, rounding, block scaling, accumulation: what low precision does to a value.

Everything is exact: values travel as float64, which holds every number of every format here.
"""

from .codes import all_values, code_at, decode, numbers, rank_of
from .formats import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E3M4,
    E4M3,
    E4M3_FNUZ,
    E4M3_IEEE,
    E5M2,
    E5M2_FNUZ,
    E8M0,
    FORMATS,
    FP16,
    FP32,
    TF32,
    Format,
    FormatError,
    format_of,
)
from .libraries import DIFFERENCES, ml_codes, ml_dtype, torch_codes, torch_dtype
from .rounding import ROUNDINGS, encode, round_to
from .spacing import neighbours, ulp, ulps_between

__all__ = [
    "BF16", "DIFFERENCES", "E2M1", "E2M3", "E3M2", "E3M4", "E4M3", "E4M3_FNUZ", "E4M3_IEEE",
    "E5M2", "E5M2_FNUZ", "E8M0", "FORMATS", "FP16", "FP32", "ROUNDINGS", "TF32", "Format",
    "FormatError", "all_values", "code_at", "decode", "encode", "format_of", "ml_codes",
    "ml_dtype", "neighbours", "numbers", "rank_of", "round_to", "torch_codes", "torch_dtype",
    "ulp", "ulps_between",
]  # fmt: skip
