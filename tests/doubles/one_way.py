"""Datagrams that measure their travel time in each direction: both ends read the same clock.

`one_way.py echo READY` returns each datagram, and makes the file READY when it listens. `one_way.py send READY COUNT
GAP_MS` waits for that and removes it, sends, and prints a line for each that returned: its number, nanoseconds there,
nanoseconds back.
"""

import contextlib
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Final

PORT: Final = 4000
PEER: Final = "198.18.0.1"
STAMPS: Final = struct.Struct("<IQQ")
BUFFER_BYTES: Final = 8 << 20
END: Final = 2**32 - 1
"""The number of the last datagram."""
PAUSE_S: Final = 0.05


def opened() -> socket.socket:
    """Open a socket with a large receive buffer."""
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # Root may have more than the system's limit.
    with contextlib.suppress(PermissionError):
        found.setsockopt(socket.SOL_SOCKET, 33, BUFFER_BYTES)
    return found


def echo(ready: Path) -> None:
    """Return each datagram with the moment of its arrival."""
    with opened() as at:
        at.bind((PEER, PORT))
        ready.touch()
        while True:
            packet, sender = at.recvfrom(2048)
            number, sent, _ = STAMPS.unpack(packet)
            at.sendto(STAMPS.pack(number, sent, time.monotonic_ns()), sender)


def send(ready: Path, count: int, gap_ms: float) -> None:
    """Send a number of datagrams, one a gap, and print those that returned."""
    lines: list[str] = []
    with opened() as to:
        to.connect((PEER, PORT))
        while not ready.exists():
            time.sleep(0.01)
        ready.unlink()

        def receive() -> None:
            while True:
                number, sent, arrived = STAMPS.unpack(to.recv(2048))
                if number == END:
                    return
                lines.append(f"{number} {arrived - sent} {time.monotonic_ns() - arrived}")

        receiver = threading.Thread(target=receive)
        receiver.start()
        begun = time.monotonic()
        for number in range(count):
            ahead = begun + number * gap_ms / 1000 - time.monotonic()
            if ahead > 0.001:
                time.sleep(ahead)
            to.send(STAMPS.pack(number, time.monotonic_ns(), 0))
        # There is no reordering: datagrams that did not return before this one are lost. It may be lost itself.
        while receiver.is_alive():
            to.send(STAMPS.pack(END, time.monotonic_ns(), 0))
            receiver.join(PAUSE_S)
    print("\n".join(lines))


if sys.argv[1] == "echo":
    echo(Path(sys.argv[2]))
else:
    send(Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
