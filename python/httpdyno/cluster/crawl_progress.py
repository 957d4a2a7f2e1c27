"""The figures of a crawl on several nodes, and the lines that show them. Pure: the caller gives the time."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from httpdyno.cluster.placement import ShardKey

_NODES_SHOWN = 4
_RATE_S = 10.0
"""Time after which the rate of a shard is one."""


@dataclass(slots=True)
class CrawlProgress:
    """Finished URLs by shard and by node.

    Attributes
    ----------
    urls : mapping of ShardKey to int
        Number of URLs by shard, which grows when a shard is divided.
    names : mapping of str to str
        Names of nodes by id.
    """

    urls: Mapping[ShardKey, int]
    names: Mapping[str, str]
    _running: dict[ShardKey, tuple[str, int]] = field(default_factory=dict)
    _since_s: dict[ShardKey, float] = field(default_factory=dict)
    _before: Counter[ShardKey] = field(default_factory=Counter)
    _done: set[ShardKey] = field(default_factory=set)
    _by_node: Counter[str] = field(default_factory=Counter)
    _shards_by_node: Counter[str] = field(default_factory=Counter)
    _busy_since_s: dict[str, float] = field(default_factory=dict)
    _busy_s: dict[str, float] = field(default_factory=dict)

    def begin(self, shard: ShardKey, node: str, now_s: float) -> None:
        """Note that a shard starts on a node."""
        if all(other != node for other, _ in self._running.values()):
            self._busy_since_s[node] = now_s
        self._running[shard] = (node, 0)
        self._since_s[shard] = now_s

    def update(self, shard: ShardKey, done: int) -> None:
        """Note the URLs that a shard has finished since its start on this node."""
        node, known = self._running[shard]
        self._running[shard] = (node, done)
        self._by_node[node] += done - known

    def end(self, shard: ShardKey, now_s: float, done: int | None, *, is_done: bool) -> None:
        """Note the end of an attempt, and the URLs that it has finished; None: it is lost, or had nothing to fetch."""
        if done is not None:
            self.update(shard, done)
        node, known = self._running.pop(shard)
        if is_done:
            self._done.add(shard)
            self._shards_by_node[node] += done is not None
        self._before[shard] += known
        if all(other != node for other, _ in self._running.values()):
            self._busy_s[node] = self._busy_s.get(node, 0.0) + now_s - self._busy_since_s.pop(node)

    def finished_urls(self) -> int:
        """Return the number of finished URLs of all shards."""
        known = self._before.copy()
        known.update({shard: done for shard, (_, done) in self._running.items()})
        return sum(min(count, self.urls[shard]) for shard, count in known.items() if shard not in self._done) + sum(
            self.urls[shard] for shard in self._done
        )

    def remaining_urls(self, shard: ShardKey) -> int:
        """Return the URLs that a running shard has not finished."""
        return max(self.urls[shard] - self._before[shard] - self._running[shard][1], 0)

    def remaining_s(self, now_s: float) -> dict[ShardKey, float]:
        """Return the time that each running shard still takes at its rate; infinite if it has finished nothing."""
        remaining = {}
        for shard, (_, done) in self._running.items():
            elapsed_s = now_s - self._since_s[shard]
            if elapsed_s >= _RATE_S:
                remaining[shard] = self.remaining_urls(shard) * elapsed_s / done if done else math.inf
        return remaining

    def urls_per_s(self, now_s: float) -> dict[str, float]:
        """Return the URLs per second of each node while it had a shard, by id."""
        rates = {}
        for node in self.names:
            busy_s = self._busy_s.get(node, 0.0) + (now_s - self._busy_since_s.get(node, now_s))
            if busy_s > 0:
                rates[node] = self._by_node[node] / busy_s
        return rates

    def line(self, now_s: float) -> str:
        """Return the one line of the running crawl."""
        total = sum(self.urls.values())
        finished = self.finished_urls()
        share = f"{finished * 100 // total} %" if total else "100 %"
        running = {node for node, _ in self._running.values()}
        rates = {node: rate for node, rate in self.urls_per_s(now_s).items() if node in running}
        text = f"{finished:,} of {total:,} URLs ({share}), {len(self._done):,} of {len(self.urls):,} shards"
        if not rates:
            return text
        if len(rates) > _NODES_SHOWN:
            return f"{text}, {len(rates)} nodes: {min(rates.values()):,.0f} to {max(rates.values()):,.0f} URLs/s each"
        each = ", ".join(f"{self.names[node]} {rate:,.0f}" for node, rate in rates.items())
        return f"{text}, URLs/s: {each}"

    def summary(self, now_s: float) -> list[str]:
        """Return a line for each node that had a shard: shards, URLs, throughput."""
        return [
            f"{self.names[node]}: {self._shards_by_node[node]:,} shards done, {self._by_node[node]:,} URLs,"
            f" {rate:,.0f} URLs/s"
            for node, rate in self.urls_per_s(now_s).items()
        ]
