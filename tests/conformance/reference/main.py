"""Reads URLs from stdin, fetches them, and prints a row for each (subjects/CONTRACT.md)."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.util import find_spec

from client.fetch import USER_AGENT, Fetcher, Settings
from client.mutation import choose_mutation


class SettingError(ValueError):
    """A variable has a value that this client cannot use."""


def read_settings(given: Mapping[str, str]) -> Settings:
    """Return the settings that the environment gives.

    Raises
    ------
    SettingError
        If a value cannot be used; the message names the variable.
    """
    texts = {name: value for name, value in given.items() if value}
    numbers = {}
    for name, default in (("CONCURRENCY", "10"), ("REQUEST_TIMEOUT", "5")):
        try:
            numbers[name] = float(texts.get(name, default))
        except ValueError as error:
            raise SettingError(f"{name}: {texts[name]!r} is no number") from error
        if not 0 < numbers[name] < 1e6 or (name == "CONCURRENCY" and numbers[name] % 1):
            raise SettingError(f"{name}: {texts[name]!r} is out of range")
    for name, allowed in (("KEEPALIVE", ("0", "1")), ("HTTP_VERSION", ("1.1", "2")), ("CHECK", ()), ("HARNESS", ())):
        if name in texts and texts[name] not in allowed:
            raise SettingError(f"{name}: {texts[name]!r} is not supported")
    if texts.get("HTTP_VERSION") == "2" and find_spec("hpack") is None:
        raise SettingError("HTTP_VERSION: 2 needs the package hpack")
    method = texts.get("METHOD", "GET")
    if not method.isascii() or not method.isalpha():
        raise SettingError(f"METHOD: {method!r} is no method")
    return Settings(
        int(numbers["CONCURRENCY"]),
        numbers["REQUEST_TIMEOUT"],
        texts.get("USER_AGENT", USER_AGENT),
        texts.get("KEEPALIVE") != "0",
        texts.get("HTTP_VERSION", ""),
        method,
        texts.get("BODY", "").encode(),
    )


async def fetch_row(fetcher: Fetcher, url: str) -> str:
    """Fetch a URL, and return its row."""
    choose_mutation(url)
    started, began = datetime.now(UTC), time.perf_counter()
    try:
        answer = await fetcher.fetch(url)
        code, length = f"{answer.status:03}", answer.length
    except Exception as error:
        code, length = type(error).__name__, 0
        if os.environ.get("DEBUG"):
            print(f"{url}: {error!r}", file=sys.stderr)
    duration_ms = (time.perf_counter() - began) * 1000
    return f"{url},{code},{started.isoformat(timespec='microseconds')},{duration_ms:.3f},{length}"


async def fetch_all(settings: Settings) -> None:
    """Fetch every line of stdin, at most ``concurrency`` at a time."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(settings.concurrency + 1))
    slots, fetcher = asyncio.Semaphore(settings.concurrency), Fetcher(settings)
    tasks = set()

    async def work(url: str) -> None:
        try:
            print(await fetch_row(fetcher, url), flush=True)
        finally:
            slots.release()

    while True:
        await slots.acquire()
        line = await loop.run_in_executor(None, sys.stdin.readline)
        if not line:
            break
        if url := line.strip():
            task = asyncio.create_task(work(url))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        else:
            slots.release()
    if tasks:
        await asyncio.wait(tasks)


def main() -> int:
    """Fetch; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"reference: {error}", file=sys.stderr)
        return 127
    asyncio.run(fetch_all(settings))
    sys.stdout.flush()
    # Threads of lookups that were given up may still wait.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
