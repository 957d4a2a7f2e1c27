"""How much memory a client gained for each URL, in the presence of garbage that its runtime has not collected yet."""

from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate

from httpdyno.model import Counters

ALLOWED_BYTES_PER_URL = 4096
"""Less than anyone needs who keeps something for every host that was visited: a pool, a connection, a TLS session."""
WOBBLE_SHARE = 0.2
"""How far a garbage-collected heap moves up and down by itself: collectors let a heap grow by a share of its size, and
some take longer for one round than for a quarter of the URLs. It is no slope: more URLs make it no larger.
"""
QUARTERS = 4


@dataclass(frozen=True)
class Growth:
    """The lowest readings of two stretches of a crawl, and how many URLs lie between those."""

    early_bytes: int
    late_bytes: int
    urls: int

    @property
    def bytes_per_url(self) -> float:
        """What a URL cost for good; below 0 when memory shrank."""
        return (self.late_bytes - self.early_bytes) / self.urls

    @property
    def is_flat(self) -> bool:
        """Whether what was gained is no more than the allowance and the heap's own wobble."""
        allowed = ALLOWED_BYTES_PER_URL * self.urls + WOBBLE_SHARE * self.early_bytes
        return self.late_bytes - self.early_bytes <= allowed

    def __str__(self) -> str:
        return f"{self.bytes_per_url:.0f} bytes a URL: from {self.early_bytes:,} to {self.late_bytes:,} bytes"


def memory_growth(counters: Counters, *, few: int, many: int) -> Growth:
    """Compare the first and the last quarter of the URLs from the `few`th to the `many`th.

    What comes before is warm-up. The lowest reading of a quarter stands for it: garbage that has not been collected
    yet comes and goes, and what is kept for good is in the lowest reading too.
    """
    assert counters.throughput
    assert counters.memory
    done_at = [point.elapsed_ns for point in counters.throughput]
    done = list(accumulate((point.answers for point in counters.throughput), initial=0))
    quarter = (many - few) // QUARTERS
    readings = [(done[bisect(done_at, point.elapsed_ns)], point.bytes) for point in counters.memory]
    early = [size for urls, size in readings if few <= urls < few + quarter]
    # Nothing behind the last answer: a process that is ending gives back what it kept, and would look innocent.
    late = [size for urls, size in readings if many - quarter <= urls < many]
    assert early, "no reading of memory in the first quarter: the crawl was too quick"
    assert late, "no reading of memory in the last quarter: the crawl was too quick"
    return Growth(min(early), min(late), urls=(many - few) - quarter)
