"""How much memory a client gained for each URL, in the presence of garbage that its runtime has not collected yet."""

from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate

from httpdyno.model import Counters

ALLOWED_BYTES_PER_URL = 4096
"""Less than a client needs that keeps an object for every visited host: a pool, a connection, a TLS session."""
WOBBLE_SHARE = 0.2
"""How far a garbage-collected heap moves up and down by itself: collectors let a heap grow by a share of its size, and
some take longer for one round than for a quarter of the URLs. It is no slope: more URLs make it no larger.
"""
MOST_WOBBLE = 2
"""Share of the allowance of a short list: beyond it, a longer list decides."""
QUARTERS = 4
SHORT, LONG, LONGEST = (2_000, 10_000), (5_000, 20_000), (10_000, 40_000)
"""How many URLs are warm-up, and how many there are in all. Memory kept for each URL exceeds the wobble of a small heap
in the short list; a large heap, a long warm-up and a quick client need the long one. The longest is for a heap that
wobbles by more than its share: V8's was seen between 260 and 390 MiB for 40,000 URLs, and no larger at their end.
"""
LARGE_HEAPS = frozenset({"deno-fetch", "dotnet-httpclient", "node-fetch", "python-aiohttp"})
"""Clients for which the short list was inconclusive: they begin with the long one."""
TAKE_A_MINUTE = LARGE_HEAPS | {"ruby-async-http-rb"}
"""Slow clients, measured only when they are named."""


@dataclass(frozen=True)
class Growth:
    """The lowest readings of two stretches of a crawl, and how many URLs lie between those."""

    early_bytes: int
    late_bytes: int
    urls: int

    @property
    def bytes_per_url(self) -> float:
        """Permanent memory of a URL; below 0 if memory shrank."""
        return (self.late_bytes - self.early_bytes) / self.urls

    @property
    def is_flat(self) -> bool:
        """Whether the growth is at most the allowance and the heap's own wobble."""
        allowed = ALLOWED_BYTES_PER_URL * self.urls + WOBBLE_SHARE * self.early_bytes
        return self.late_bytes - self.early_bytes <= allowed

    @property
    def tells(self) -> bool:
        """Whether flat is meaningful: the wobble of a heap of this size does not exceed the allowance."""
        return WOBBLE_SHARE * self.early_bytes <= MOST_WOBBLE * ALLOWED_BYTES_PER_URL * self.urls

    def __str__(self) -> str:
        return f"{self.bytes_per_url:.0f} bytes a URL: from {self.early_bytes:,} to {self.late_bytes:,} bytes"


def memory_growth(counters: Counters, *, few: int, many: int) -> Growth | None:
    """Compare the first and the last quarter of the URLs from the `few`th to the `many`th; None: they were too quick.

    The URLs before are warm-up. The lowest reading of a quarter counts: uncollected garbage comes and goes, and
    permanently kept memory is in the lowest reading, too.
    """
    assert counters.throughput
    assert counters.memory
    done_at = [point.elapsed_ns for point in counters.throughput]
    done = list(accumulate((point.answers for point in counters.throughput), initial=0))
    quarter = (many - few) // QUARTERS
    readings = [(done[bisect(done_at, point.elapsed_ns)], point.bytes) for point in counters.memory]
    early = [size for urls, size in readings if few <= urls < few + quarter]
    # No reading after the last answer: an ending process frees its memory, and would hide a leak.
    late = [size for urls, size in readings if many - quarter <= urls < many]
    if not early or not late:
        return None
    return Growth(min(early), min(late), urls=(many - few) - quarter)
