"""Whether the origin saw a request of a URL within the stretch of time that the client claims for it."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from httpdyno.stats import BoolArray, Int64Array

__all__ = ["CLOCK_SLACK_NS", "DONE_SLACK_NS", "Claims", "Requests", "seen_within"]

CLOCK_SLACK_NS: Final = 2_000_000
"""Reading clocks, and durations in whole milliseconds: 2 ms at either end, beside the precision of the start time."""
DONE_SLACK_NS: Final = 100_000_000
"""The last bytes may be framing alone: a decoder that has found its own end mark need not wait for them."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Stretches of time in which a client says that it fetched a URL, each shape (n,).

    A group is a number from 0 that stands for a URL; -1 stands for none, and is never seen.
    """

    group: Int64Array
    begin_ns: Int64Array
    end_ns: Int64Array

    def some(self, rows: Int64Array) -> "Claims":
        """Pick some of them, by their places."""
        return Claims(self.group[rows], self.begin_ns[rows], self.end_ns[rows])


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests that the origin saw, each shape (m,): ``done_ns`` is ``at_ns`` where an answer was never finished."""

    group: Int64Array
    at_ns: Int64Array
    done_ns: Int64Array

    def last_ns(self) -> Int64Array:
        """Return the earliest moment that a stretch may end at which the request lies within."""
        return np.maximum(self.at_ns, self.done_ns - DONE_SLACK_NS)


def seen_within(claims: Claims, requests: Requests) -> BoolArray:
    """Return for each claimed stretch whether one request of its group lies within it: shape (n,).

    A request lies within when it arrived no earlier than ``begin_ns`` and no later than ``end_ns``, and was answered no
    later than ``DONE_SLACK_NS`` after ``end_ns``. Groups are numbered without great gaps.
    """
    if len(requests.group) == 0:
        return np.zeros(len(claims.group), dtype=np.bool_)
    # One number more than there are groups: -1 looks at the last, which no request has.
    groups = max(int(requests.group.max()), int(claims.group.max(initial=-1))) + 2
    logged = np.bincount(requests.group, minlength=groups)[claims.group]
    place = np.zeros(groups, dtype=np.int64)
    place[requests.group] = np.arange(len(requests.group))
    request = place[claims.group]
    inside = (claims.begin_ns <= requests.at_ns[request]) & (requests.last_ns()[request] <= claims.end_ns)
    # Nearly every URL is requested once: then one comparison says it all.
    seen: BoolArray = inside & (logged == 1)
    often = np.flatnonzero(logged > 1)
    if len(often):
        seen[often] = _seen_often(claims.some(often), requests)
    return seen


def _seen_often(claims: Claims, requests: Requests) -> BoolArray:
    """Return it of groups with any number of requests; the cost is that of sorting, also when all are of one group."""
    count = len(requests.at_ns)
    # Times are replaced by their ranks, so that group and time fit into one sortable number without overflow.
    stride = count + 1
    by_time = np.argsort(requests.at_ns, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[by_time] = np.arange(count)
    key = requests.group * stride + rank
    order = np.argsort(key)
    key, group, last = key[order], requests.group[order], requests.last_ns()[order]
    first_not_before = np.searchsorted(requests.at_ns[by_time], claims.begin_ns)
    candidate = np.searchsorted(key, claims.group * stride + first_not_before)
    inside = candidate < count
    candidate[~inside] = 0
    inside &= group[candidate] == claims.group
    return inside & (_earliest_from_here_on(group, last)[candidate] <= claims.end_ns)


def _earliest_from_here_on(group: Int64Array, last: Int64Array) -> Int64Array:
    """Smallest ``last`` among the requests of the same group from each one on; groups are contiguous and ascending."""
    if (group[1:] != group[:-1]).all():
        return last
    ranked = np.sort(last)
    stride = len(last) + 1
    # Backwards, every group's numbers are below those of the group before: the running minimum starts anew by itself.
    smallest = np.minimum.accumulate((group * stride + np.searchsorted(ranked, last))[::-1])[::-1]
    earliest: Int64Array = ranked[smallest - group * stride]
    return earliest
