"""Write the ten shipped traces: `python -m warpwise.traces`."""

from __future__ import annotations

from .chrome import write_trace
from .examples import FOLDER, SHIPPED, example, path_of


def main() -> int:
    """One file for each entry of SHIPPED."""
    FOLDER.mkdir(exist_ok=True)
    for number, (cause, seed) in SHIPPED.items():
        write_trace(example(cause, seed), path_of(number))
    print(f"wrote {len(SHIPPED)} traces")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
