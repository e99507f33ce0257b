"""What ranks print: kept in bounded memory, shown by rank."""

from __future__ import annotations

from collections import deque

HEAD = 64 * 1024  # bytes of each rank's output that are always kept from its beginning
TAIL = 64 * 1024  # and from its end


class Transcript:
    """The beginning and the end of one rank's output."""

    def __init__(self) -> None:
        self.length = 0  # bytes that came
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_length = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.length += len(data)
        room = HEAD - len(self._head)
        self._head += data[:room]
        data = data[room:] if room < len(data) else b""
        if not data:
            return
        self._tail.append(data)
        self._tail_length += len(data)
        while self._tail_length - len(self._tail[0]) >= TAIL:
            self._tail_length -= len(self._tail.popleft())

    def text(self) -> str:
        """All that is kept, with a line where something was left out."""
        tail = b"".join(self._tail)[-TAIL:]
        left_out = self.length - len(self._head) - len(tail)
        if left_out:
            note = f"\n... {left_out / 1e6:,.1f} MB left out ...\n".encode()
            return (bytes(self._head) + note + tail).decode(errors="replace")
        return (bytes(self._head) + tail).decode(errors="replace")


def lines_of(text: str) -> list[str]:
    """Lines as a terminal would leave them: a progress bar keeps its last state."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.rstrip("\r").rpartition("\r")[2] for line in lines]


def ranks_text(ranks: list[int], size: int) -> str:
    """`rank 2`, `ranks 0-3`, `ranks 0, 2`, `all 4 ranks`."""
    if len(ranks) == size and size > 1:
        return f"all {size} ranks"
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and parts[-1][-1] == rank - 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    spans = (f"{p[0]}-{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in parts)
    return "ranks " + ", ".join(spans)


def by_rank(texts: list[str]) -> str:
    """All output, rank after rank; ranks that printed the same are shown once."""
    same: dict[str, list[int]] = {}
    for rank, text in enumerate(texts):
        if text.strip():
            same.setdefault(text, []).append(rank)
    shown = []
    for text, ranks in same.items():
        label = ranks_text(ranks, len(texts))
        shown += [f"[{label}] {line}" for line in lines_of(text)]
    return "\n".join(shown)
