"""Programs of a run that are not measured, such as a peer server; refusal of unsuitable subjects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from httpdyno.errors import InvalidValue, UnknownName, UsageError, suggestion
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.model import Condition, Subject, SubjectKind
from httpdyno.subjects.catalogue import Catalogue, read_subject

_Choice = TypeVar("_Choice")
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
    """Find the other programs of a run from its settings."""
    folders = [settings.get(name) for name in ("peer_folder", "generator_folder")]
    return [read_subject(Path(str(folder))) for folder in folders if folder is not None]


def require_able(subjects: Sequence[Subject], experiment: OfOneWeb, asked: str) -> None:
    """Refuse a subject that supports none of the conditions; ``asked`` names the options that led to them."""
    for subject in subjects:
        if not any(experiment.able_to(subject, condition) for condition in experiment.conditions()):
            raise UsageError(f"{subject.id} does not support {asked}; leave it out, or choose other settings")


ON_OFF_BOTH: Final[Mapping[str, tuple[bool, ...]]] = {"on": (True,), "off": (False,), "both": (True, False)}


def chosen(option: str, word: str, known: Mapping[str, _Choice]) -> _Choice:
    """Return the meaning of the word of an option; raise ``InvalidValue`` for an unknown word."""
    if word not in known:
        *others, last = known
        raise InvalidValue(f"--{option}: {word[:60]!r} is not supported; write {', '.join(others)} or {last}")
    return known[word]


def keeps_or_closes(subject: Subject, condition: Condition) -> bool:
    """Return whether a client treats its connections as the condition demands.

    A client that cannot close its connections is not asked to; one that cannot keep them is measured as it is where
    they may be kept, as a session is used where a library has one.
    """
    claims = subject.capabilities.keepalive
    return condition.workload.keepalive or not claims or False in claims
