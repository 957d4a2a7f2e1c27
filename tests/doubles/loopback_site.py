"""Servers on this machine that stand for hosts of the real internet."""

import threading
from collections import Counter, defaultdict
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

__all__ = ["Site"]

_HOSTS: Final = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


class Site(ThreadingHTTPServer):
    """A server that answers on every address of the loopback, and records all requests."""

    # No thread outlives the server: closing it waits for all threads.
    daemon_threads = False
    # A shorter queue drops connections, which the kernel then repeats after a second.
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), _Page)
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.together = 1
        """How many requests a host must have had in flight at once before it answers any."""
        self.gathered = threading.Condition(self.lock)
        self.paths: Counter[str] = Counter()
        self.user_agents: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.most_in_flight: dict[str, int] = defaultdict(int)

    def server_close(self) -> None:
        """Answer all waiting requests, and end."""
        self.closing.set()
        with self.lock:
            self.gathered.notify_all()
        super().server_close()

    def urls(self, pages: int, path: str = "page") -> list[str]:
        return [f"http://{host}:{self.server_port}/{path}/{page}" for page in range(pages) for host in _HOSTS]


class _Page(BaseHTTPRequestHandler):
    """Answers a little late, or when enough other requests wait, too; below /stall never."""

    server: Site
    timeout = 300

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        with self.server.lock:
            self.server.paths[self.path] += 1
            self.server.user_agents[self.headers["User-Agent"]] += 1
            self.server.in_flight[host] += 1
            self.server.most_in_flight[host] = max(self.server.most_in_flight[host], self.server.in_flight[host])
            self.server.gathered.notify_all()
            self.server.gathered.wait_for(
                lambda: self.server.most_in_flight[host] >= self.server.together or self.server.closing.is_set(), 300
            )
        # Too many simultaneous requests have the time to be seen.
        self.server.closing.wait(None if self.path.startswith("/stall") else 0.01)
        with self.server.lock:
            self.server.in_flight[host] -= 1
        self.send_response(200)
        self.send_header("Content-Length", "5")
        with suppress(OSError):  # the client may have disconnected
            self.end_headers()
            self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Print nothing."""
