"""Datagrams that tell how long they were on their way, each way: both ends read the same clock.

`one_way.py echo READY` sends back what comes, and makes the file READY when it listens. `one_way.py send READY COUNT
GAP_MS` waits for that and removes it, sends, and prints a line for each that came back: its number, nanoseconds there,
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
"""The number of what is sent after all others."""
PAUSE_S: Final = 0.05


def opened() -> socket.socket:
    """Open a socket that holds what comes while nobody reads."""
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # Root may have more than the system's limit.
    with contextlib.suppress(PermissionError):
        found.setsockopt(socket.SOL_SOCKET, 33, BUFFER_BYTES)
    return found


def echo(ready: Path) -> None:
    """Send back what comes, with the moment of its arrival."""
    with opened() as at:
        at.bind((PEER, PORT))
        ready.touch()
        while True:
            packet, sender = at.recvfrom(2048)
            number, sent, _ = STAMPS.unpack(packet)
            at.sendto(STAMPS.pack(number, sent, time.monotonic_ns()), sender)


def send(ready: Path, count: int, gap_ms: float) -> None:
    """Send so many, one a gap, and print what came back."""
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
        # Nothing overtakes on its way: what has not come back before this is lost. This may be lost itself.
        while receiver.is_alive():
            to.send(STAMPS.pack(END, time.monotonic_ns(), 0))
            receiver.join(PAUSE_S)
    print("\n".join(lines))


if sys.argv[1] == "echo":
    echo(Path(sys.argv[2]))
else:
    send(Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
