"""The threads that fetch, one for each slot; one that exceeds its time is abandoned, and another takes its place.

Neither a name lookup nor a read of drips can be interrupted, and a timeout of a socket bounds only one read.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from queue import SimpleQueue

Fetch = Callable[[str, float], tuple[int | str, int]]
"""Fetches a URL before a moment of ``time.perf_counter``; returns the code and the length of its row."""


@dataclass(eq=False, slots=True)
class Attempt:
    """A line of the list in its slot."""

    line: str
    timeout: float
    start_time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))
    start: float = field(default_factory=time.perf_counter)

    @property
    def deadline(self) -> float:
        """When its time ends."""
        return self.start + self.timeout

    def row(self, code: int | str, body_length: int) -> bytes:
        """Return ``url,code,start_time,duration,body_length`` and a line feed, the URL as it was read."""
        duration_ms = (time.perf_counter() - self.start) * 1e3
        return os.fsencode(f"{self.line},{code},{self.start_time},{duration_ms:.3f},{body_length}\n")


class Slots:
    """Fetches the lines of stdin, as many at a time as there are slots."""

    def __init__(self, count: int, timeout: float, fetch: Fetch) -> None:
        self.count = count
        self.timeout = timeout
        self.fetch = fetch
        self.lines = read_lines()
        self.running: set[Attempt] = set()
        self.reading, self.changing, self.writing = threading.Lock(), threading.Lock(), threading.Lock()
        self.left: SimpleQueue[bool] = SimpleQueue()
        """For each slot that a thread has left: whether there may be more lines for it."""

    def run(self) -> None:
        """Return when every row is printed."""
        threading.Thread(target=self.watch, daemon=True).start()
        for _ in range(self.count):
            self.occupy()
        occupied = self.count
        while occupied:
            if self.left.get():
                self.occupy()
            else:
                occupied -= 1

    def occupy(self) -> None:
        """Start the thread of a slot; as a daemon, it is not awaited at the end."""
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        """Fetch one line after the other, until there is none, or the slot belongs to another thread."""
        while True:
            with self.reading:
                line = next(self.lines, None)
            if line is None:
                self.left.put(False)
                return
            attempt = Attempt(line, self.timeout)
            with self.changing:
                self.running.add(attempt)
            code, body_length = self.fetch(line.strip(), attempt.deadline)
            row = attempt.row(code, body_length)
            with self.changing:
                if attempt not in self.running:
                    return
                self.running.remove(attempt)
            self.write(row)

    def watch(self) -> None:
        """Abandon fetches that exceed their time."""
        while True:
            now = time.perf_counter()
            with self.changing:
                late = [attempt for attempt in self.running if attempt.deadline <= now]
                self.running.difference_update(late)
                # Later fetches end later than all of these.
                nearest = min((attempt.deadline for attempt in self.running), default=now + self.timeout)
            if late:
                self.write(b"".join(attempt.row("TimeoutError", 0) for attempt in late))
            for _ in late:
                self.left.put(True)
            time.sleep(max(0.0, nearest - time.perf_counter()))

    def write(self, rows: bytes) -> None:
        """Print rows without interleaving those of other threads."""
        try:
            with self.writing:
                sys.stdout.buffer.write(rows)
                sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(1)  # the reader closed the pipe


def read_lines() -> Iterator[str]:
    """Yield the lines of stdin that are not empty; reads a line only when it is taken."""
    for line in sys.stdin.buffer:
        if line := line.removesuffix(b"\n").removesuffix(b"\r"):
            yield os.fsdecode(line)
