"""The difference between a client that keeps memory for every URL and one that collects its garbage late."""

from collections.abc import Callable

import pytest

from contract.memory import ALLOWED_BYTES_PER_URL, LONG, LONGEST, SHORT, Growth, memory_growth
from httpdyno.judge.conformance import Attempt
from httpdyno.lab.conformance import CaseRunner, urls_of
from httpdyno.model import Counters, MemoryPoint, Outcome, ThroughputPoint

BIN_NS, READING_NS = 200 * 10**6, 100 * 10**6
URLS_PER_BIN = 100
MIB = 2**20


@pytest.fixture(params=[SHORT, LONG, LONGEST], ids=["short", "long", "longest"])
def grown(request: pytest.FixtureRequest) -> Callable[..., Growth]:
    """Return the result of a steady crawl whose memory is a function of the finished URLs."""
    few, many = request.param

    def found(memory_after: Callable[[int], int], *, giving_back: int = 0) -> Growth:
        growth = memory_growth(counters_of(memory_after, many, giving_back), few=few, many=many)
        assert growth is not None
        return growth

    return found


def counters_of(memory_after: Callable[[int], int], many: int, giving_back: int) -> Counters:
    bins = many // URLS_PER_BIN
    readings = [
        MemoryPoint(at, memory_after(at // BIN_NS * URLS_PER_BIN)) for at in range(0, bins * BIN_NS, READING_NS)
    ]
    ending = [MemoryPoint(bins * BIN_NS + number * READING_NS, 1 * MIB) for number in range(giving_back)]
    throughput = tuple(ThroughputPoint((number + 1) * BIN_NS, URLS_PER_BIN) for number in range(bins))
    return Counters(memory=(*readings, *ending), throughput=throughput)


def sawtooth(urls: int) -> int:
    """Garbage of 20 KiB a URL, collected every 1,500 URLs: up to 30 MiB."""
    return 60 * MIB + urls % 1_500 * 20 * 1024


def slow_wobble(urls: int) -> int:
    """Return a heap of 320 MiB that goes up and down by a fifth over 8,000 URLs, longer than a quarter."""
    return 320 * MIB + abs((urls - 6_000) % 16_000 - 8_000) * 64 * MIB // 8_000


def warm_up(urls: int) -> int:
    """Memory that grows for the first URLs only: pools, buffers, code."""
    return min(urls, SHORT[0]) * 20 * 1024


def test_garbage_that_comes_and_goes_is_no_growth(grown: Callable[..., Growth]) -> None:
    assert abs(grown(sawtooth).bytes_per_url) < ALLOWED_BYTES_PER_URL / 8


def test_a_warm_up_is_no_growth(grown: Callable[..., Growth]) -> None:
    assert abs(grown(lambda urls: sawtooth(urls) + warm_up(urls)).bytes_per_url) < ALLOWED_BYTES_PER_URL / 8


@pytest.mark.parametrize("phase", range(0, 16_000, 2_000))
def test_a_large_heap_that_wobbles_slowly_is_flat(grown: Callable[..., Growth], phase: int) -> None:
    assert grown(lambda urls: slow_wobble(urls + phase)).is_flat


@pytest.mark.parametrize("phase", range(0, 16_000, 2_000))
def test_a_pool_kept_for_every_host_is_found_under_a_slow_wobble(grown: Callable[..., Growth], phase: int) -> None:
    pool = 30 * 1024
    assert not grown(lambda urls: slow_wobble(urls + phase) + pool * urls).is_flat


@pytest.mark.parametrize("kept", [8 * 1024, 16 * 1024, 100 * 1024])
@pytest.mark.parametrize("giving_back", [0, 3])
def test_what_is_kept_is_found_under_the_garbage(grown: Callable[..., Growth], kept: int, giving_back: int) -> None:
    growth = grown(lambda urls: sawtooth(urls) + kept * urls, giving_back=giving_back)
    assert growth.bytes_per_url == pytest.approx(kept, rel=0.15)
    assert not growth.is_flat


@pytest.mark.parametrize(("heap_mib", "tells"), [(60, True), (230, True), (320, False), (1_000, False)])
def test_a_short_list_does_not_tell_of_a_large_heap(heap_mib: int, tells: bool) -> None:
    few, many = SHORT
    growth = Growth(heap_mib * MIB, heap_mib * MIB, urls=(many - few) * 3 // 4)
    assert (growth.is_flat, growth.tells) == (True, tells)


def test_a_crawl_too_quick_to_be_read_proves_nothing() -> None:
    few, many = LONG
    throughput = (ThroughputPoint(BIN_NS, many),)
    assert memory_growth(Counters(memory=(MemoryPoint(0, MIB),), throughput=throughput), few=few, many=many) is None


# The growth of memory, garbage aside, is read from a clock's samples of it.
@pytest.mark.measured
@pytest.mark.parametrize("build", ["leaking-client"], indirect=True, scope="session")
def test_a_client_that_leaks_is_caught(runner: CaseRunner) -> None:
    few, many = 1_000, 6_000
    urls = [url.replace("https://", "http://") for url in urls_of(runner.engine, "plain", many)]
    crawled = runner.observe(Attempt(urls, concurrency=20))
    assert crawled.trial.outcome is Outcome.OK, crawled.trial.reason
    # The claimed times do not matter for memory.
    assert [sample for sample in crawled.wrong if sample["verdict"] != "wrong_time"] == []
    growth = memory_growth(crawled.trial.counters, few=few, many=many)
    print(growth)
    assert growth is not None
    assert not growth.is_flat, str(growth)
