"""Servers on this machine that stand for hosts of the real internet."""

import threading
import time
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

__all__ = ["Site"]

_HOSTS: Final = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


class Site(ThreadingHTTPServer):
    """A server that answers on every address of the loopback, and remembers who asked for what."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), _Page)
        self.lock = threading.Lock()
        self.paths: Counter[str] = Counter()
        self.user_agents: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.most_in_flight: dict[str, int] = defaultdict(int)

    def urls(self, pages: int, path: str = "page") -> list[str]:
        return [f"http://{host}:{self.server_port}/{path}/{page}" for page in range(pages) for host in _HOSTS]


class _Page(BaseHTTPRequestHandler):
    """Answers a little late; below /stall never."""

    server: Site

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        with self.server.lock:
            self.server.paths[self.path] += 1
            self.server.user_agents[self.headers["User-Agent"]] += 1
            self.server.in_flight[host] += 1
            self.server.most_in_flight[host] = max(self.server.most_in_flight[host], self.server.in_flight[host])
        time.sleep(1000 if self.path.startswith("/stall") else 0.01)
        with self.server.lock:
            self.server.in_flight[host] -= 1
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Say nothing."""
