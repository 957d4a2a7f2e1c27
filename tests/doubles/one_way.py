"""Datagrams that tell how long they were on their way, each way: both ends read the same clock.

`one_way.py echo` sends back what comes. `one_way.py send COUNT GAP_MS` sends, and prints a line for each that came
back: its number, nanoseconds there, nanoseconds back.
"""

import contextlib
import socket
import struct
import sys
import threading
import time
from typing import Final

PORT: Final = 4000
PEER: Final = "198.18.0.1"
STAMPS: Final = struct.Struct("<IQQ")
BUFFER_BYTES: Final = 8 << 20


def opened() -> socket.socket:
    """Open a socket that holds what comes while nobody reads."""
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # Root may have more than the system's limit.
    with contextlib.suppress(PermissionError):
        found.setsockopt(socket.SOL_SOCKET, 33, BUFFER_BYTES)
    return found


def echo() -> None:
    """Send back what comes, with the moment of its arrival."""
    with opened() as at:
        at.bind((PEER, PORT))
        while True:
            packet, sender = at.recvfrom(2048)
            number, sent, _ = STAMPS.unpack(packet)
            at.sendto(STAMPS.pack(number, sent, time.monotonic_ns()), sender)


def send(count: int, gap_ms: float) -> None:
    """Send so many, one a gap, and print what came back."""
    lines: list[str] = []
    with opened() as to:
        to.connect((PEER, PORT))
        # The other end may not be there yet.
        time.sleep(0.3)

        def receive() -> None:
            to.settimeout(1)
            with contextlib.suppress(TimeoutError):
                while len(lines) < count:
                    packet = to.recv(2048)
                    number, sent, arrived = STAMPS.unpack(packet)
                    lines.append(f"{number} {arrived - sent} {time.monotonic_ns() - arrived}")

        receiver = threading.Thread(target=receive)
        receiver.start()
        begun = time.monotonic()
        for number in range(count):
            ahead = begun + number * gap_ms / 1000 - time.monotonic()
            if ahead > 0.001:
                time.sleep(ahead)
            to.send(STAMPS.pack(number, time.monotonic_ns(), 0))
        receiver.join()
    print("\n".join(lines))


if sys.argv[1] == "echo":
    echo()
else:
    send(int(sys.argv[2]), float(sys.argv[3]))
