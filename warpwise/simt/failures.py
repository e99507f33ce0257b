"""What a launch says when it fails for a reason that is not the kernel's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import typing
from .capacity import CapacityError
from .errors import LaunchError, SimtError, TypingError, UnsupportedError, at_line


@contextmanager
def told(name: str) -> Iterator[None]:
    """Around a launch of kernel `name`: every failure comes out as a SimtError in words."""
    try:
        yield
    except SimtError:
        raise
    except typing.NoSignature as error:
        raise TypingError(f"{name}: {error}") from None
    except RecursionError:
        raise UnsupportedError(
            f"{name}: a device function calls itself more often than the simulator can follow.\n"
            "  Check that every path comes to the case that ends it; a GPU has room for few such "
            "calls, too."
        ) from None
    except CapacityError as error:
        raise LaunchError(f"{name}: {error}") from None
    except MemoryError:
        raise LaunchError(f"{name}: this launch does not fit into memory.") from None
    except Exception as error:
        raise SimtError(
            at_line(name, None, "", f"the simulator itself failed: {error!r}",
                    "This is a fault of the simulator, not of your kernel. Please report it.")
        ) from error  # fmt: skip
