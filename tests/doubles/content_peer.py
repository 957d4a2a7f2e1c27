"""Sends content that both ends generate, and reports the result: ``serve BYTES`` is the peer, ``fetch`` the subject."""

import hashlib
import random
import socket
import sys
import time

PORT = 5300
PATIENCE_S = 300.0


def content(size: int) -> bytes:
    """Make the content."""
    return random.Random(7).randbytes(size)


def serve(size: int) -> None:
    """Send it to every connection, by both versions of IP."""
    sent = content(size)
    with socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(sent)


def fetch(host: str, size: int) -> None:
    """Read it to its end; print its length, and whether it equals the sent content."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            connection = socket.create_connection((host, PORT), timeout=PATIENCE_S)
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    with connection:
        arrived = b"".join(iter(lambda: connection.recv(2**20), b""))
    same = hashlib.sha256(arrived).digest() == hashlib.sha256(content(size)).digest()
    print(len(arrived), "same" if same else "other")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        fetch(sys.argv[2], int(sys.argv[3]))
