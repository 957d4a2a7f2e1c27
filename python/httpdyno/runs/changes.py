"""What has changed since a run was begun, in words: the machine, the engine, a subject."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from httpdyno.model import format_size
from httpdyno.store import EngineIdentity, Machine, SubjectVersion

__all__ = ["changed_engine", "changed_machine", "changed_subject"]

_SAME_MEMORY: Final = 0.01
"""Share by which the memory of one machine may differ from boot to boot: a kernel keeps some for itself."""


def changed_machine(then: Machine, now: Machine) -> str | None:
    """Describe in what two machines differ, or one machine from what it was; None when in nothing that is known."""
    for name in (field.name for field in fields(Machine)):
        if name not in {"sysctls", "memory_bytes"} and (
            change := _change(name, getattr(then, name), getattr(now, name))
        ):
            return change
    if then.memory_bytes and now.memory_bytes and abs(then.memory_bytes / now.memory_bytes - 1) > _SAME_MEMORY:
        return _change("memory", format_size(then.memory_bytes), format_size(now.memory_bytes))
    return _changed_key(then.sysctls, now.sysctls)


def changed_engine(then: EngineIdentity | None, now: EngineIdentity) -> str | None:
    """Describe in what an engine differs from what it was; None when it is the same program."""
    if then is None:
        return "the engine was not recorded"
    if then.version != now.version:
        return f"the engine is {now.version}, was {then.version}"
    return None if then.sha256 == now.sha256 else f"the engine is another program of the same version {now.version}"


def changed_subject(then: SubjectVersion, now: SubjectVersion, *, built: bool) -> str | None:
    """Describe in what a subject differs from what it was; None when it is the same.

    Parameters
    ----------
    then, now : SubjectVersion
        What is not known of one of them (a version, a hash) is not compared.
    built : bool
        Whether it has been tried to build it now, so that it is known whether it is available.
    """
    if built and now.unavailable and not then.unavailable:
        return f"it was available, and is not any more: {now.unavailable}"
    if built and then.unavailable and not now.unavailable:
        return f"it was unavailable ({then.unavailable}), and is available now"
    if change := _changed_key(_shortened(then.lockfiles), _shortened(now.lockfiles)):
        return change
    if then.version and now.version and then.version != now.version:
        return f"it is of version {now.version}, was {then.version}"
    if then.fingerprint and now.fingerprint and then.fingerprint != now.fingerprint:
        return "its files, or the programs that it is built with, have changed"
    return None


def _shortened(lockfiles: Mapping[str, str]) -> dict[str, str]:
    return {name: digest[:12] for name, digest in lockfiles.items()}


def _changed_key(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    for name in sorted({*then, *now}):
        if change := _change(name, then.get(name), now.get(name)):
            return change
    return None


def _change(name: str, then: object, now: object) -> str | None:
    def said(value: object) -> str:
        return "not known" if value is None else " ".join(str(value).split())

    return None if then == now else f"{name} is {said(now)}, was {said(then)}"
