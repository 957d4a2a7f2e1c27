"""Companions of a run that are not measured, such as a peer server, and refused subjects."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from httpdyno.errors import UnknownName, UsageError, suggestion
from httpdyno.experiments.experiment import Setting
from httpdyno.model import Condition, Subject, SubjectKind
from httpdyno.subjects.catalogue import Catalogue, read_subject

ORIGIN = "origin"
"""Name of the engine's own origin, the default peer."""


def find_peer(catalogue: Catalogue, name: str | None, endpoint: str) -> Subject | None:
    """Find the server that is the peer and claims the endpoint, such as ``json``; None for the engine's origin."""
    if name is None or name == ORIGIN:
        return None
    servers = {server.id for server in catalogue.of_kind(SubjectKind.SERVER)}
    if name not in {*catalogue.subjects, *catalogue.invalid}:
        raise UnknownName(f"--peer: there is no server {name[:60]!r}; {suggestion(name, [ORIGIN, *sorted(servers)])}")
    (server,) = catalogue.select([name])
    if server.kind is not SubjectKind.SERVER:
        raise UsageError(f"--peer {name}: it is a {server.kind}; name a server such as flask-dev, or {ORIGIN}")
    if endpoint not in server.capabilities.endpoints:
        raise UsageError(f"--peer {name}: its subject.toml does not claim to answer {endpoint!r}; name another server")
    return server


def restored_companions(settings: Mapping[str, Setting]) -> list[Subject]:
    """Find the companions of a run from its settings."""
    folders = [settings.get(name) for name in ("peer_folder", "generator_folder")]
    return [read_subject(Path(str(folder))) for folder in folders if folder is not None]


def require_able(
    subjects: Sequence[Subject],
    conditions: Sequence[Condition],
    able_to: Callable[[Subject, Condition], bool],
    asked: str,
) -> None:
    """Refuse a subject that supports none of the requested options; ``asked`` names them."""
    for subject in subjects:
        if not any(able_to(subject, condition) for condition in conditions):
            raise UsageError(f"{subject.id} does not support {asked}; leave it out, or choose other settings")
