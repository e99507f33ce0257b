"""Messages over a stream socket: a small JSON head and a block of bytes.

A message is the two lengths, the head as text, the bytes.  Nothing is unpickled here.
"""

from __future__ import annotations

import array
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

LENGTHS = struct.Struct("!IQ")  # of the head, of the bytes
CHUNK = 1 << 20


def pack(head: dict[str, Any], block: bytes = b"") -> bytes:
    """The message up to its bytes, which are sent apart so that they are not copied."""
    text = json.dumps(head).encode()
    return LENGTHS.pack(len(text), len(block)) + text


def send(sock: socket.socket, head: dict[str, Any], block: bytes = b"") -> None:
    """Send one message; waits until the other side has taken it."""
    sock.sendall(pack(head, block))
    if block:
        sock.sendall(block)


def send_with_files(sock: socket.socket, head: dict[str, Any], files: list[int]) -> None:
    """Send one message with open files; the receiver gets its own descriptors for them."""
    message = pack(head)
    sent = sock.sendmsg(
        [message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
    )
    sock.sendall(message[sent:])


class Inbox:
    """Puts messages together from what a socket has; `closed` when the other side is gone."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.closed = False
        self.empty = False  # the last read found nothing; only on a socket that does not wait
        self.files: list[int] = []  # descriptors that came and were not taken yet
        self._bytes = bytearray()

    def read(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Take what is there, waiting if the socket does, and give the messages that are whole."""
        self.empty = False
        try:
            chunk, files, _, _ = socket.recv_fds(self.sock, CHUNK, 8)
        except (BlockingIOError, TimeoutError):
            self.empty = True
            return
        except OSError:
            chunk, files = b"", []
        self.closed = not chunk
        self.files += files
        self._bytes += chunk
        while len(self._bytes) >= LENGTHS.size:
            head, block = LENGTHS.unpack_from(self._bytes)
            start, middle = LENGTHS.size, LENGTHS.size + head
            if len(self._bytes) < middle + block:
                return
            message = json.loads(self._bytes[start:middle])
            content = bytes(memoryview(self._bytes)[middle : middle + block])
            del self._bytes[: middle + block]
            yield message, content
