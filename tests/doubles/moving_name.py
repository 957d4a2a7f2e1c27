"""A name server whose name moves during a load: `moving_name.py ENGINE FOLDER OPTION...` prints the load's report.

Runs in a network and a mount namespace of its own, as root of it. The name app.test stands for 127.0.0.2, then for
127.0.0.3; an origin answers at each. With the option ``--dns-refresh`` both stay alive, without it the first dies.
"""

import fcntl
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

PORT = 8080
RATE = 200
PATIENCE_S = 240
_ESTABLISHED = "01"
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


class NameServer:
    """Answers every question for an IPv4 address with the current one, and has no IPv6 address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            query, client = self._socket.recvfrom(4096)
            end = query.index(b"\0", 12) + 5
            is_ipv4 = query[end - 4 : end - 2] == b"\0\x01"
            answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04" + socket.inet_aton(self.address) if is_ipv4 else b""
            counts = b"\0\x01" + (b"\0\x01" if is_ipv4 else b"\0\0") + b"\0\0\0\0"
            self._socket.sendto(query[:2] + b"\x81\x80" + counts + query[12:end] + answer, client)


class Answers:
    """The number of answers in the last line of a load's progress."""

    def __init__(self, load: subprocess.Popen[str]) -> None:
        self.count = 0
        threading.Thread(target=self._read, args=(load,), daemon=True).start()

    def _read(self, load: subprocess.Popen[str]) -> None:
        assert load.stdout
        for line in load.stdout:
            self.count = json.loads(line)["requests"]


def connections(address: str) -> int:
    """Count the open connections to the origin at an address."""
    number = int.from_bytes(socket.inet_aton(address), "little")
    local = f"{number:08X}:{PORT:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return sum(row[1] == local and row[3] == _ESTABLISHED for row in rows)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for an event; only a hang exceeds the limit."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)


def set_loopback_up() -> None:
    """Do what `ip link set lo up` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


def start_origin(engine: str, address: str) -> subprocess.Popen[str]:
    """Start an origin and wait until it listens."""
    argv = [engine, "origin", "--web", "plain", "--listen", f"{address}:{PORT}"]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    process.stderr.readline()
    return process


def main(engine: str, folder: Path, options: list[str]) -> None:
    """Move the name once the load has connections, and end the load once it has followed."""
    set_loopback_up()
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\n", encoding="ascii")
    subprocess.run(["mount", "--bind", folder / "resolv.conf", "/etc/resolv.conf"], check=True)
    server = NameServer("127.0.0.2")
    origins = [start_origin(engine, address) for address in ("127.0.0.2", "127.0.0.3")]
    report = folder / "report.json"
    argv = [engine, "load", f"http://app.test:{PORT}/", "-c", "4", "--rate", str(RATE), "-d", "1h", "--timeout", "60s"]
    load = subprocess.Popen([*argv, "--report", report, "--progress", "1", *options], stdout=subprocess.PIPE, text=True)
    answers = Answers(load)
    try:
        wait_until(lambda: connections("127.0.0.2") == 4)
        server.address = "127.0.0.3"
        if "--dns-refresh" not in options:
            origins[0].kill()
        wait_until(lambda: connections("127.0.0.3") == 4 and not connections("127.0.0.2"))
        # The last line of progress may be a second old.
        enough = answers.count + 3 * RATE
        wait_until(lambda: answers.count >= enough)
        load.send_signal(signal.SIGINT)
        load.wait(PATIENCE_S)
    finally:
        for process in (load, *origins):
            process.kill()
            process.wait()
    print(json.dumps(json.loads(report.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
