"""An action that runs during a test as soon as its condition holds, and never after the test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOOK_EVERY_S = 0.005


@contextmanager
def as_soon_as(condition: Callable[[], object], act: Callable[[], object]) -> Iterator[None]:
    """While the block lasts, do something once, in a thread of its own, as soon as the condition holds.

    If the block ends before, even by an error, the thread ends with it.
    """
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_EVERY_S):
            if condition():
                act()
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
