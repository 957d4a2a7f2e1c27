"""Puts the URLs of a list that only a timeout ends at its beginning, so that no trial waits for them at its end."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from httpdyno.lab.scratch import ScratchFile
from httpdyno.storage import storage_errors
from httpdyno.urls.source import UrlFile

__all__ = ["early_order", "with_early_timeouts"]

_FASTEST_PER_S: Final = 300
"""URLs a second of the fastest client, at the concurrency that clients have of their own."""


def early_order(count: int, timeouts: Sequence[int], *, timeout_s: float) -> list[int]:
    """Return the order of a list in which the URLs that only a timeout ends come early.

    As many URLs come after the last of them as the fastest client reads within a timeout: its timeout has then ended
    when the list has. In a list that is no longer than that they all come first. In a longer one they are spread evenly
    over the part before, since a client that is held up by its CPU does nothing while all of its requests wait. Both
    kinds keep the order that they had.

    Parameters
    ----------
    count : int
        Length of the list.
    timeouts : sequence of int
        The places, from 0, of the URLs that only a timeout ends, in ascending order.
    timeout_s : float
        The timeout of a URL, in seconds.

    Returns
    -------
    list of int
        The old place of each URL of the new list: a permutation of ``range(count)``.
    """
    first = max(len(timeouts), count - ceil(timeout_s * _FASTEST_PER_S))
    of_timeouts = {number * first // len(timeouts): old for number, old in enumerate(timeouts)}
    known = frozenset(timeouts)
    others = (old for old in range(count) if old not in known)
    return [of_timeouts[place] if place in of_timeouts else next(others) for place in range(count)]


def with_early_timeouts(urls: UrlFile, timeouts: Sequence[int], *, timeout_s: float) -> UrlFile:
    """Write a list in the order of ``early_order`` and close the given one.

    The list itself is returned when it has that order already, or has no such URL.
    """
    order = early_order(urls.count, timeouts, timeout_s=timeout_s) if timeouts else []
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
