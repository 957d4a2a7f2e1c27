"""The figures of a crawl on several nodes."""

import math

from httpdyno.cluster.crawl_progress import CrawlProgress
from httpdyno.cluster.placement import ShardKey as Key


def test_urls_are_counted_once_over_attempts() -> None:
    progress = CrawlProgress({Key(1): 100, Key(2): 50}, {"a": "left", "b": "right"})
    assert progress.line(0.0) == "0 of 150 URLs (0 %), 0 of 2 shards"
    progress.begin(Key(1), "a", 0.0)
    progress.begin(Key(2), "b", 0.0)
    progress.update(Key(1), 40)
    progress.update(Key(2), 10)
    assert progress.line(2.0) == "50 of 150 URLs (33 %), 0 of 2 shards, URLs/s: left 20, right 5"
    # The node is lost, and the other one continues its shard.
    progress.end(Key(1), 2.0, None, is_done=False)
    progress.end(Key(2), 4.0, 50, is_done=True)
    progress.begin(Key(1), "b", 4.0)
    progress.update(Key(1), 20)
    assert progress.finished_urls() == 110
    assert progress.line(8.0) == "110 of 150 URLs (73 %), 1 of 2 shards, URLs/s: right 9"
    progress.end(Key(1), 8.0, 60, is_done=True)
    assert progress.finished_urls() == 150
    assert progress.summary(100.0) == [
        "left: 0 shards done, 40 URLs, 20 URLs/s",
        "right: 2 shards done, 110 URLs, 14 URLs/s",
    ]


def test_many_nodes_are_a_range() -> None:
    names = {str(number): f"node-{number}" for number in range(1, 7)}
    progress = CrawlProgress(dict.fromkeys(map(Key, range(1, 7)), 1000), names)
    for number in range(1, 7):
        progress.begin(Key(number), str(number), 0.0)
        progress.update(Key(number), 100 * number)
    assert progress.line(1.0).endswith("0 of 6 shards, 6 nodes: 100 to 600 URLs/s each")


def test_an_empty_list_has_a_line() -> None:
    progress = CrawlProgress({Key(1): 0}, {"a": "left"})
    progress.begin(Key(1), "a", 0.0)
    progress.end(Key(1), 0.0, 0, is_done=True)
    assert progress.line(0.0) == "0 of 0 URLs (100 %), 1 of 1 shards"


def test_the_remaining_time_follows_from_the_rate_of_this_attempt() -> None:
    progress = CrawlProgress({Key(1): 1000, Key(2): 1000}, {"a": "left", "b": "right"})
    progress.begin(Key(1), "a", 0.0)
    progress.update(Key(1), 400)
    progress.end(Key(1), 5.0, 400, is_done=False)
    progress.begin(Key(1), "b", 10.0)
    progress.begin(Key(2), "a", 10.0)
    progress.update(Key(1), 100)
    assert progress.remaining_s(19.0) == {}, "too early to tell"
    assert progress.remaining_s(30.0) == {Key(1): 100.0, Key(2): math.inf}


def test_a_shard_that_was_done_before_adds_nothing_to_its_node() -> None:
    progress = CrawlProgress({Key(1): 100}, {"a": "left"})
    progress.begin(Key(1), "a", 0.0)
    progress.end(Key(1), 2.0, None, is_done=True)
    assert progress.line(2.0) == "100 of 100 URLs (100 %), 1 of 1 shards"
    assert progress.summary(2.0) == ["left: 0 shards done, 0 URLs, 0 URLs/s"]
