"""A connection to a Ray cluster, or a cluster of several nodes on this machine for the time of a command."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from httpdyno.cluster import node as node_code
from httpdyno.cluster.command_line import ClusterName
from httpdyno.cluster.local_nodes import local_nodes
from httpdyno.cluster.node_check import (
    AUTHENTICATION,
    NodeFacts,
    authentication_problem,
    node_names,
    node_problem,
)
from httpdyno.errors import EngineFailed, HttpdynoError, UsageError
from httpdyno.lab.interruption import Interruption

_OPTION: Final = "--cluster"
_CONNECT_S: Final = 10.0
_ANSWER_S: Final = 120.0
"""Longest wait for nodes that describe themselves: a worker process may have to start on each."""
_HEAD_S: Final = 45.0
"""Longest wait for the head node, with the import of Ray."""
_TOKEN_REFUSED: Final = 3
_PROBE: Final = f"""
import sys
import ray
try:
    ray._raylet.GcsClient(address=sys.argv[1])
except ray.exceptions.AuthenticationError:
    sys.exit({_TOKEN_REFUSED})
"""


@dataclass(frozen=True, slots=True)
class Connection:
    """A cluster that is connected, and whose nodes fit together.

    Attributes
    ----------
    ray : module
        The module of Ray.
    own_node : str
        Id of the node of this process.
    names : dict of str to str
        Name of each node that was checked, by its id.
    folder : str
        Working folder of all tasks.
    manifest : str or None
        Path of the list's manifest.
    """

    ray: Any
    own_node: str
    names: dict[str, str]
    folder: str
    manifest: str | None

    def cpus(self) -> dict[str, int]:
        """Return the CPUs of the nodes that are alive, were checked and have a CPU for tasks, by id."""
        alive = {one["NodeID"]: int(one["Resources"].get("CPU", 0)) for one in self.ray.nodes() if one["Alive"]}
        return {node: cpus for node, cpus in alive.items() if cpus >= 1 and node in self.names}

    def on_node(self, function: Any, node: str, *, cpus: int = 1) -> Any:  # noqa: ANN401
        """Make a remote function that runs on one node, and is not started again by Ray."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        strategy = NodeAffinitySchedulingStrategy(node, soft=False)
        return self.ray.remote(num_cpus=cpus, max_retries=0)(function).options(scheduling_strategy=strategy)


@contextmanager
def connect(cluster: ClusterName, interruption: Interruption, manifest: Path | None = None) -> Iterator[Connection]:
    """Join or start the cluster, check its nodes, and leave it at the end.

    Raises ``UsageError`` in one line if Ray is missing, the cluster refuses or needs no token, or a node does not fit.
    """
    folder = str(Path.cwd())
    _quieten()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_without_messages())
        with interruption.at_once("the cluster was connected"):
            address = cluster.text
            # They start while Ray is imported.
            started = stack.enter_context(local_nodes(cluster.local_nodes)) if cluster.local_nodes else None
            ray = _import_ray()
            if started is not None:
                address = started()
            stack.callback(ray.shutdown)
            _init(ray, address, cluster)
            # Ray handles SIGTERM by an exit of its own.
            stack.enter_context(interruption)
            connection = _checked(ray, folder, None if manifest is None else str(manifest.absolute()))
        yield connection


def await_ends(ray: Any, tasks: Iterable[Any], most_s: float) -> None:  # noqa: ANN401
    """Wait until tasks have ended, and discard what they still report; not longer than ``most_s``."""
    left, deadline_s = set(tasks), time.monotonic() + most_s
    while left and (left_s := deadline_s - time.monotonic()) > 0:
        for task in ray.wait(list(left), num_returns=1, timeout=left_s)[0]:
            try:
                ray.get(next(task))
            except (ray.exceptions.RayError, StopIteration):
                left.remove(task)


def _quieten() -> None:
    """Keep Ray's own messages from the terminal, before it is imported; the user's settings are kept."""
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }.items():
        os.environ.setdefault(name, value)


@contextmanager
def _without_messages() -> Iterator[None]:
    """Discard what Ray prints: logs of lost nodes to Python's stdout, and messages of its own to descriptor 2.

    Python's stderr is still that of the command.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, os.fdopen(kept, "w", buffering=1) as stderr:
        os.dup2(nowhere.fileno(), 2)
        try:
            with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(stderr):
                yield
        finally:
            os.dup2(kept, 2)


def _import_ray() -> Any:  # noqa: ANN401
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "needs Ray; install it with: pip install 'httpdyno[ray]'", option=_OPTION, joint=" "
        ) from error
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    ray.cloudpickle.register_pickle_by_value(node_code)
    return ray


def _init(ray: Any, address: str, cluster: ClusterName) -> None:  # noqa: ANN401
    if address != "auto" and not cluster.local_nodes:
        _require_listener(address)
        _require_head(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=False)
    except ConnectionError as error:
        if address == "auto":
            cure = "start one with: ray start --head, or use local:3"
            raise UsageError(f"auto: no Ray cluster runs on this machine; {cure}", option=_OPTION) from error
        raise _refused(cluster, error) from error
    except HttpdynoError:
        raise
    except Exception as error:
        raise _refused(cluster, error) from error


def _refused(cluster: ClusterName, error: Exception) -> UsageError:
    """Quote Ray: its text has the versions of both sides, if these differ."""
    cure = "use the same versions of Ray and Python on all machines, and run the command on a node (ray start)"
    return UsageError(f"{cluster.text}: Ray cannot join: {' '.join(str(error).split())[:400]}; {cure}", option=_OPTION)


def _require_listener(address: str) -> None:
    """Try the port first: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
    except OSError as error:
        reason = error.strerror or "no answer"
        cure = "name HOST:PORT that ray start --head printed"
        raise UsageError(f"{address}: {reason}; {cure}", option=_OPTION) from error


def _require_head(address: str) -> None:
    """Ask the head node in a process of its own: Ray tries a port of another program, or a wrong token, for minutes."""
    argv = [sys.executable, "-c", _PROBE, address]
    cure = "name HOST:PORT that ray start --head printed"
    try:
        status = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_HEAD_S, check=False
        ).returncode
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{address}: no head node of Ray answers there; {cure}", option=_OPTION) from error
    if status == _TOKEN_REFUSED:
        raise UsageError(f"{address}: the cluster refuses the token of this machine; {AUTHENTICATION}", option=_OPTION)
    if status != 0:
        raise UsageError(f"{address}: no head node of Ray answers there; {cure}", option=_OPTION)


def _checked(ray: Any, folder: str, manifest: str | None) -> Connection:  # noqa: ANN401
    """Have each node describe itself; raise ``UsageError`` for the first problem."""
    own = NodeFacts(**node_code.describe_node(folder, manifest))
    own_node = ray.get_runtime_context().get_node_id()
    alive = sorted((one["NodeID"] for one in ray.nodes() if one["Alive"]), key=lambda node: (node != own_node, node))
    connection = Connection(ray, own_node, {}, folder, manifest)
    asked = {node: connection.on_node(node_code.describe_node, node, cpus=0).remote(folder, manifest) for node in alive}
    facts = {node: _facts(ray, node, answer) for node, answer in asked.items()}
    names = node_names({node: described.host for node, described in facts.items()})
    address = ray.get_runtime_context().gcs_address
    problems = [authentication_problem(address, [own, *facts.values()])] + [
        node_problem(names[node], described, own, folder, manifest) for node, described in facts.items()
    ]
    if problem := next(filter(None, problems), None):
        raise UsageError(problem, option=_OPTION)
    if own.engine is None:
        raise EngineFailed("the engine is missing on this machine; install it with: pip install httpdyno-engine")
    connection.names.update(names)
    return connection


def _facts(ray: Any, node: str, answer: Any) -> NodeFacts:  # noqa: ANN401
    try:
        return NodeFacts(**ray.get(answer, timeout=_ANSWER_S))
    except ray.exceptions.GetTimeoutError as error:
        text = f"node {node[:8]} does not answer within {_ANSWER_S:.0f} s; end it with ray stop, or start it again"
        raise UsageError(text, option=_OPTION) from error
    except ray.exceptions.RayError as error:
        text = f"node {node[:8]} cannot run a task: {' '.join(str(error).split())[:400]}"
        raise UsageError(text, option=_OPTION) from error
