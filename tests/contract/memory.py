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
MOST_WOBBLE = 2
"""Of the allowance of a short list: with more than that a longer list has to tell."""
QUARTERS = 4
SHORT, LONG, LONGEST = (2_000, 10_000), (5_000, 20_000), (10_000, 40_000)
"""How many URLs are warm-up, and how many there are in all. What is kept for each stands out from the wobble of a small
heap in the short list; a large heap, a long warm-up and a quick client take the long one. The longest is for a heap
that wobbles by more than its share: V8's was seen between 260 and 390 MiB for 40,000 URLs, and no larger at their end.
"""
LARGE_HEAPS = frozenset({"deno-fetch", "dotnet-httpclient", "node-fetch", "python-aiohttp"})
"""Clients of which the short list was seen to tell nothing, whose first is the long one."""
TAKE_A_MINUTE = LARGE_HEAPS | {"ruby-async-http-rb"}
"""Clients that take so long that they are measured only when they are named."""


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

    @property
    def tells(self) -> bool:
        """Whether flat means something: what a heap of this size may wobble does not drown the allowance."""
        return WOBBLE_SHARE * self.early_bytes <= MOST_WOBBLE * ALLOWED_BYTES_PER_URL * self.urls

    def __str__(self) -> str:
        return f"{self.bytes_per_url:.0f} bytes a URL: from {self.early_bytes:,} to {self.late_bytes:,} bytes"


def memory_growth(counters: Counters, *, few: int, many: int) -> Growth | None:
    """Compare the first and the last quarter of the URLs from the `few`th to the `many`th; None: they were too quick.

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
    if not early or not late:
        return None
    return Growth(min(early), min(late), urls=(many - few) - quarter)
