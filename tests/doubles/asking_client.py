"""A client that fetches one URL after the other, for tests that put it into a folder of its own."""

from typing import Final

__all__ = ["ASKS"]

ASKS: Final = """
import sys, time, urllib.request
from datetime import datetime, timezone
for line in sys.stdin:
    began = time.time()
    code, length = "200", 0
    try:
        with urllib.request.urlopen(line.strip(), timeout=60) as answer:
            length = len(answer.read())
    except Exception as error:
        code = type(error).__name__
    # Both of one clock: a busy machine may let a program rest between readings of two.
    took_ms, start = 1000 * (time.time() - began), datetime.fromtimestamp(began, timezone.utc)
    print(f"{line.strip()},{code},{start.isoformat(timespec='microseconds')},{took_ms},{length}", flush=True)
"""
"""Correct, and patient: urllib in one thread is enough for a few URLs."""
