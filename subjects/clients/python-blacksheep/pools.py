"""Pools of connections to the hosts used last: BlackSheep's own keep hosts and abandoned connections for ever."""

import asyncio
from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Self

from blacksheep.client.connection import HTTP11Connection
from blacksheep.client.pool import ConnectionPool, ConnectionPools

PORTS = {b"http": 80, b"https": 443}

current: ContextVar["Use"] = ContextVar("current")


@dataclass(slots=True)
class Use:
    """The connections in use by the current URL."""

    pools: list["Pool"] = field(default_factory=list)
    connections: list[HTTP11Connection] = field(default_factory=list)

    def __enter__(self) -> Self:
        current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self.pools:
            pool.users -= 1
        for connection in self.connections:
            # Connections that returned to no pool; BlackSheep leaves them open.
            pool = connection.pool()
            if pool is None or pool.disposed or not connection.is_alive():
                # Not close(), which has no effect on a connection that will not be reused.
                connection.writer.transport.abort()


class Pool(ConnectionPool):
    """The connections to a host."""

    users = 0

    async def create_connection(self) -> HTTP11Connection:
        connection = await super().create_connection()
        current.get().connections.append(connection)
        return connection


class RecentPools(ConnectionPools):
    """The pools in use, and those used last, up to a total of this number."""

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
        pool = self.recent[key]
        pool.users += 1
        current.get().pools.append(pool)
        if len(self.recent) > self.count:
            self.close_oldest()
        return pool

    def close_oldest(self) -> None:
        """Close the least recently used pool; a connection of HTTP/2 is in its pool while it is in use."""
        for key, pool in self.recent.items():
            if not pool.users:
                del self.recent[key]
                task = asyncio.create_task(pool.dispose())
                self.closing.add(task)
                task.add_done_callback(self.closing.discard)
                return
