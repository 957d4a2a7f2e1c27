"""Which shard runs next on which node, and what follows from the end of an attempt. Pure: no process, no clock."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

MOST_ATTEMPTS: Final = 5
"""Attempts after which a shard is given up: it may be what ends the nodes."""
_MISTAKES: Final = frozenset({2, 127})
"""Exit codes of ``fetch`` for a wrong command; the same command would fail again."""
LONG_S: Final = 30.0
"""Remaining time of a shard from which the CPUs that wait for it take a part."""
FEW_URLS: Final = 1000
"""URLs that are not worth the starts of several fetches."""


class ShardKey(NamedTuple):
    """A shard of the list, or one of the shards into which what was left of it was divided.

    Attributes
    ----------
    number : int
        Number of the shard of the list, from 1.
    part : int
        Number among those of its rest, from 1; 0: the shard itself.
    """

    number: int
    part: int = 0

    def __str__(self) -> str:
        """Return ``3``, and ``3.1`` for the first part of its rest."""
        return f"{self.number}.{self.part}" if self.part else str(self.number)


class Verdict(Enum):
    """What follows from the end of an attempt."""

    DONE = "done"
    AGAIN = "again"
    GIVEN_UP = "given up"
    MISTAKE = "mistake"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt.

    Attributes
    ----------
    node : str
        Id of its node.
    exit_code : int or None
        Exit code of the engine; None: the node or its worker was lost.
    line : str
        The last message.
    """

    node: str
    exit_code: int | None
    line: str


@dataclass(slots=True)
class Placement:
    """The shards of a list on the nodes of a cluster.

    Attributes
    ----------
    urls : dict of ShardKey to int
        Number of URLs of each shard. :meth:`divide` changes it.
    slots : dict of str to int
        Shards that a node runs at once, by id of the node.
    running : dict of ShardKey to str
        Node of each running shard.
    done : list of ShardKey
        Shards that are done.
    failures : dict of ShardKey to list of Failure
        Failed attempts by shard.
    given_up : list of ShardKey
        Shards that failed too often.
    """

    urls: dict[ShardKey, int]
    slots: dict[str, int]
    running: dict[ShardKey, str] = field(default_factory=dict)
    done: list[ShardKey] = field(default_factory=list)
    failures: dict[ShardKey, list[Failure]] = field(default_factory=dict)
    given_up: list[ShardKey] = field(default_factory=list)

    @property
    def waiting(self) -> list[ShardKey]:
        """Shards that wait for a node: first those that were begun, then the largest, so that none ends late."""
        ended = {*self.running, *self.done, *self.given_up}
        waiting = [shard for shard in self.urls if shard not in ended]
        return sorted(waiting, key=lambda shard: (shard not in self.failures, -self.urls[shard], shard))

    @property
    def is_ended(self) -> bool:
        """Whether no shard runs or waits."""
        return len(self.done) + len(self.given_up) == len(self.urls)

    def free(self) -> dict[str, int]:
        """Return the free slots of the nodes that have any."""
        used = list(self.running.values())
        free = {node: slots - used.count(node) for node, slots in self.slots.items()}
        return {node: count for node, count in free.items() if count > 0}

    def straggler(self, remaining_s: Mapping[ShardKey, float], stopped: Collection[ShardKey]) -> ShardKey | None:
        """Choose the running shard for which free slots would wait longest, to be divided; None: no one is worth it.

        What was left of a divided shard is not divided again: if it is slow on two nodes, its hosts are.
        """
        if self.waiting or not self.free():
            return None
        others = [shard for shard in self.running if not shard.part and shard not in stopped]
        shard = max(others, key=lambda shard: remaining_s.get(shard, 0.0), default=None)
        return shard if shard is not None and remaining_s.get(shard, 0.0) >= LONG_S else None

    def divide(self, shard: ShardKey, rest: Mapping[int, int]) -> None:
        """Note that a shard is done without the URLs of ``rest``, by number of the part, which are shards now."""
        parts = {ShardKey(shard.number, part): urls for part, urls in rest.items()}
        self.urls[shard] -= sum(parts.values())
        self.urls.update(parts)

    def next(self) -> tuple[ShardKey, str] | None:
        """Choose a shard and a node with a free slot, and note that it runs there; None: nothing can be started now.

        The node has the most free slots. A shard goes to a node on which it has not failed, if there is any.
        """
        free = self.free()
        nodes = sorted(free, key=lambda node: (-free[node], node))
        for shard in self.waiting if nodes else ():
            failed_on = {failure.node for failure in self.failures.get(shard, ())}
            has_other = bool(self.slots.keys() - failed_on)
            node = next((node for node in nodes if node not in failed_on or not has_other), None)
            if node is not None:
                self.running[shard] = node
                return shard, node
        return None

    def end(self, shard: ShardKey, exit_code: int | None, line: str) -> Verdict:
        """Note the end of an attempt; ``exit_code`` is None if the node was lost.

        Exit code 2 of a repeated shard is no mistake: its command was accepted before. An earlier fetch of this shard
        may hold its lock on a node that Ray has lost.
        """
        failure = Failure(self.running.pop(shard), exit_code, line)
        if exit_code == 0:
            self.done.append(shard)
            return Verdict.DONE
        failures = self.failures.setdefault(shard, [])
        failures.append(failure)
        if exit_code in _MISTAKES and len(failures) == 1:
            return Verdict.MISTAKE
        if len(failures) >= MOST_ATTEMPTS:
            self.given_up.append(shard)
            return Verdict.GIVEN_UP
        return Verdict.AGAIN

    def use_nodes(self, slots: Mapping[str, int]) -> None:
        """Replace the nodes by those that are alive; shards that run on a lost one end by ``end``."""
        self.slots = dict(slots)


def numbered(shards: Collection[ShardKey], *, most: int = 8) -> str:
    """Write the numbers of shards for a message: ``shard 3``, ``shards 3, 7.1 and 12 more``."""
    numbers = sorted(shards)
    shown = ", ".join(map(str, numbers[:most]))
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return f"{'shard' if len(numbers) == 1 else 'shards'} {shown}{more}"
