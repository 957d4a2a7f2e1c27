"""Pools of connections to the hosts used last: BlackSheep's own keep every host, and what was given up, for good."""

import asyncio
from collections import OrderedDict
from contextvars import ContextVar

from blacksheep.client.connection import HTTP11Connection
from blacksheep.client.pool import ConnectionPool, ConnectionPools

PORTS = {b"http": 80, b"https": 443}

opened: ContextVar[list[HTTP11Connection]] = ContextVar("opened")
"""The connections that were opened for the URL at hand."""


class Pool(ConnectionPool):
    """The connections to a host."""

    async def create_connection(self) -> HTTP11Connection:
        connection = await super().create_connection()
        opened.get().append(connection)
        return connection


class RecentPools(ConnectionPools):
    """The pools of as many hosts as may be in use."""

    def __init__(self, count: int, *, http2: bool, idle_timeout: float) -> None:
        super().__init__(http2, idle_timeout)
        self.count = count
        self.recent: OrderedDict[tuple[bytes, bytes, int], Pool] = OrderedDict()
        self.closing: set[asyncio.Task[None]] = set()

    def get_pool(self, scheme: bytes, host: bytes, port: int, ssl: None) -> Pool:
        key = (scheme, host, port or PORTS[scheme])
        if key not in self.recent:
            self.recent[key] = Pool(*key, ssl, http2=self.http2_enabled, idle_timeout=self.idle_timeout)
        self.recent.move_to_end(key)
        if len(self.recent) > self.count:
            _, oldest = self.recent.popitem(last=False)
            task = asyncio.create_task(oldest.dispose())
            self.closing.add(task)
            task.add_done_callback(self.closing.discard)
        return self.recent[key]


def close_what_is_not_reusable(connections: list[HTTP11Connection]) -> None:
    """Close the connections that went back to no pool; BlackSheep forgets them open."""
    for connection in connections:
        pool = connection.pool()
        if pool is None or pool.disposed or not connection.is_alive():
            # Not close(), which does nothing for a connection that is not to be used again.
            connection.writer.transport.abort()
