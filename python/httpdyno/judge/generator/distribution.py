"""A distribution of times as it really was: every step of it, so that any quantile is exact."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from httpdyno.errors import InvalidValue

__all__ = ["Distribution", "distribution_of"]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Times, ascending, each with the number of those that are as long or shorter."""

    times_ns: tuple[int, ...]
    counts: tuple[int, ...]
    mean_ns: float

    def __post_init__(self) -> None:
        """Refuse what is no distribution."""
        for name, values in (("times", self.times_ns), ("counts", self.counts)):
            if any(later < earlier for earlier, later in pairwise(values)):
                raise InvalidValue(f"a distribution whose {name} do not ascend")
        if len(self.times_ns) != len(self.counts):
            raise InvalidValue("a distribution needs a count for each time")

    @property
    def count(self) -> int:
        """How many times there are."""
        return self.counts[-1] if self.counts else 0

    def quantile_ns(self, share: float) -> int:
        """Return the shortest time that this share of all does not exceed.

        What lies outside of 0, for the shortest of all, to 1, for the longest, is taken for the nearer end.
        """
        if not self.counts:
            raise InvalidValue("nothing has no quantiles")
        rank = max(1.0, min(share, 1.0) * self.count)
        # A rank such as 0.99 * 1000 is a hair above the whole number that it is.
        place = bisect_left(self.counts, rank - 1e-6)
        return self.times_ns[min(place, len(self.times_ns) - 1)]

    def later(self, by_ns: int) -> "Distribution":
        """Return the same with every time longer by so much."""
        return Distribution(tuple(time + by_ns for time in self.times_ns), self.counts, self.mean_ns + by_ns)


def distribution_of(times_ns: Iterable[int]) -> Distribution:
    """Make the distribution of some times, in any order."""
    found = Counter(times_ns)
    times = tuple(sorted(found))
    counts = tuple(accumulate(found[time] for time in times))
    total = sum(time * count for time, count in found.items())
    return Distribution(times, counts, total / counts[-1] if counts else 0.0)
