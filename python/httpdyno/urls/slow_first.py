"""Puts the slowest URLs of a list at its beginning, so that no trial waits for them at its end."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from httpdyno.lab.scratch import ScratchFile
from httpdyno.storage import storage_errors
from httpdyno.urls.source import UrlFile

__all__ = ["early_order", "with_slow_first"]

_FASTEST_PER_S: Final = 300
"""URLs a second of the fastest client, at the concurrency that clients have of their own."""


def early_order(count: int, slow: Sequence[int], *, timeout_s: float) -> list[int]:
    """Return the order of a list in which its slowest URLs come early.

    As many URLs come after the last of them as the fastest client reads within a timeout: it has then ended when the
    list has. In a list that is no longer than that the slow URLs come first. In a longer one they are spread evenly
    over the part before, since a client that is held up by its CPU does nothing while all of its requests wait. The
    other URLs keep their order.

    Parameters
    ----------
    count : int
        Length of the list.
    slow : sequence of int
        The places, from 0, of the slow URLs, in the order in which they are to come.
    timeout_s : float
        The timeout of a URL, in seconds.

    Returns
    -------
    list of int
        The old place of each URL of the new list: a permutation of ``range(count)``.
    """
    first = max(len(slow), count - ceil(timeout_s * _FASTEST_PER_S))
    of_slow = {number * first // len(slow): old for number, old in enumerate(slow)}
    known = frozenset(slow)
    others = (old for old in range(count) if old not in known)
    return [of_slow[place] if place in of_slow else next(others) for place in range(count)]


def with_slow_first(urls: UrlFile, slow: Sequence[int], *, timeout_s: float) -> UrlFile:
    """Write a list in the order of ``early_order`` and close the given one.

    The list itself is returned when it has that order already, or no slow URL.
    """
    order = early_order(urls.count, slow, timeout_s=timeout_s) if slow else []
    if order == sorted(order):
        return urls
    file = ScratchFile()
    try:
        with urls, storage_errors("preparing the list of URLs: cannot write"):
            with urls.file.path.open("rb") as lines:
                text = list(lines)
            file.file.writelines(text[old] for old in order)
            file.file.flush()
    except BaseException:
        file.close()
        raise
    return replace(urls, file=file, reordered=True)
