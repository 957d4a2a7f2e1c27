"""Subjects that take part in a run and are not measured, such as a server that plays the peer: kept in its settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from httpdyno.errors import UnknownName, UsageError, suggestion
from httpdyno.experiments.experiment import Setting
from httpdyno.model import Subject, SubjectKind
from httpdyno.subjects.catalogue import Catalogue, read_subject

__all__ = ["ORIGIN", "find_peer", "restored_companions"]

ORIGIN = "origin"
"""The peer that is no server of somebody else's: the web that we play ourselves."""
_ROLES: Final = ("peer", "generator")
"""What a companion can be; the settings of a run name the folder of each."""


def find_peer(catalogue: Catalogue, name: str | None, endpoint: str = "") -> Subject | None:
    """Find the server that is to play the peer; None when it is our origin.

    ``endpoint`` is what it has to answer, such as ``json``; empty: anything.
    """
    if name is None or name == ORIGIN:
        return None
    servers = {server.id for server in catalogue.of_kind(SubjectKind.SERVER)}
    if name not in {*catalogue.subjects, *catalogue.invalid}:
        raise UnknownName(f"--peer: there is no server {name[:60]!r}; {suggestion(name, [ORIGIN, *sorted(servers)])}")
    (server,) = catalogue.select([name])
    if server.kind is not SubjectKind.SERVER:
        raise UsageError(f"--peer {name}: it is a {server.kind}; name a server such as flask-dev, or {ORIGIN}")
    if endpoint and endpoint not in server.capabilities.endpoints:
        raise UsageError(f"--peer {name}: its subject.toml does not claim to answer {endpoint!r}; name another server")
    return server


def restored_companions(settings: Mapping[str, Setting]) -> list[Subject]:
    """Find again who takes part in a run without being measured, from its settings."""
    folders = [settings.get(f"{role}_folder") for role in _ROLES]
    return [read_subject(Path(str(folder))) for folder in folders if folder is not None]
