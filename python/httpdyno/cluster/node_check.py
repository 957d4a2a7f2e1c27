"""Whether the nodes of a cluster fit together: names and one line for a problem. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

AUTHENTICATION = (
    "start Ray with RAY_AUTH_MODE=token on all machines, and with one token (ray get-auth-token --generate)"
)


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as it describes itself; the fields are those of ``node.describe_node``."""

    host: str
    python: str
    program: str
    ray: str
    httpdyno: str | None
    engine: str | None
    needs_token: bool
    has_folder: bool
    list_sha256: str | None


def node_names(hosts: Mapping[str, str]) -> dict[str, str]:
    """Name each node by its host; nodes of one host are numbered. The keys are ids of nodes."""
    count = Counter(hosts.values())
    seen: Counter[str] = Counter()
    names = {}
    for node, host in hosts.items():
        seen[host] += 1
        names[node] = host if count[host] == 1 else f"{host}-{seen[host]}"
    return names


def is_loopback(address: str) -> bool:
    """Return whether other machines cannot reach ``HOST:PORT``."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def node_problem(name: str, node: NodeFacts, own: NodeFacts, folder: str, manifest: str | None) -> str | None:
    """Return what keeps a node from working, and the cure; None: nothing.

    Parameters
    ----------
    name : str
        Name of the node.
    node, own : NodeFacts
        The node, and the machine of the command.
    folder : str
        Working folder.
    manifest : str or None
        Path of the list's manifest.
    """
    if node.httpdyno is None:
        cure = f"install it there with: pip install 'httpdyno[ray]=={own.httpdyno}'"
        return f"node {name}: {node.program} has no httpdyno; {cure}"
    if node.engine is None:
        return (
            f"node {name}: httpdyno has no engine there; install it with: pip install httpdyno-engine=={own.httpdyno}"
        )
    for what, theirs, ours in (
        ("httpdyno", node.httpdyno, own.httpdyno),
        ("httpdyno-engine", node.engine, own.engine),
        ("Ray", node.ray, own.ray),
        ("Python", node.python.rpartition(".")[0], own.python.rpartition(".")[0]),
    ):
        if theirs != ours:
            return f"node {name} has {what} {theirs}, this machine has {ours}; install the same version on all nodes"
    if not node.has_folder:
        return f"node {name}: there is no folder {folder}; use a folder that all nodes share, or create it there"
    if manifest is not None and node.list_sha256 is None:
        return f"node {name}: {manifest} is missing; use a folder that all nodes share, or copy the lists there"
    if node.list_sha256 != own.list_sha256:
        return f"node {name}: {manifest} is of another list; copy the lists there again"
    return None


def authentication_problem(address: str, nodes: Sequence[NodeFacts]) -> str | None:
    """Return why a cluster is not protected; None: it is, or only this machine reaches it.

    Without a token, any machine that reaches the ports of Ray can run programs on the nodes.
    """
    if is_loopback(address) or all(node.needs_token for node in nodes):
        return None
    danger = "any machine that reaches it can run programs on all nodes"
    return f"Ray at {address} needs no token, so {danger}; {AUTHENTICATION}"
