"""Number formats, rounding, block scaling, accumulation: what low precision does to a value.

Everything is exact: values travel as float64, which holds every number of every format here.
"""

from .accumulation import blocked_sum, hopper_dot, kahan_sum, running_sum, running_sums
from .blocks import (
    BLOCK_FORMATS,
    MXFP4,
    MXFP8,
    NVFP4,
    Blocked,
    BlockFormat,
    quantise,
    scaled_matmul,
)
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
from .packing import pack, unpack
from .rounding import ROUNDINGS, encode, round_to
from .scaler import Scaler
from .spacing import neighbours, ulp, ulps_between

__all__ = [
    "BF16",
    "BLOCK_FORMATS",
    "DIFFERENCES",
    "E2M1",
    "E2M3",
    "E3M2",
    "E3M4",
    "E4M3",
    "E4M3_FNUZ",
    "E4M3_IEEE",
    "E5M2",
    "E5M2_FNUZ",
    "E8M0",
    "FORMATS",
    "FP16",
    "FP32",
    "MXFP4",
    "MXFP8",
    "NVFP4",
    "ROUNDINGS",
    "TF32",
    "BlockFormat",
    "Blocked",
    "Format",
    "FormatError",
    "Scaler",
    "all_values",
    "blocked_sum",
    "code_at",
    "decode",
    "encode",
    "format_of",
    "hopper_dot",
    "kahan_sum",
    "ml_codes",
    "ml_dtype",
    "neighbours",
    "numbers",
    "pack",
    "quantise",
    "rank_of",
    "round_to",
    "running_sum",
    "running_sums",
    "scaled_matmul",
    "torch_codes",
    "torch_dtype",
    "ulp",
    "ulps_between",
    "unpack",
]
