"""In what runs were made differently, as their manifests describe it: each difference is named once, here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Final, Literal

from httpdyno.model import format_size
from httpdyno.store.manifest import Machine, Manifest, SubjectVersion, UrlList, WebIdentity

__all__ = ["Difference", "differences", "subject_differences", "web_differences"]

_SAME_MEMORY: Final = 0.01
"""Share by which the memory of one machine may differ from boot to boot: a kernel keeps some for itself."""
_HARMLESS_SETTINGS: Final = frozenset({"repeat", "quick", "preset", "time_budget_s"})
"""They say how much was measured, or are a name for other settings: nothing that moves a figure by itself."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs."""

    part: Literal["instrument", "machine", "webs", "list", "settings", "trials", "subject"]
    name: str
    then: object = None
    now: object = None
    _: KW_ONLY
    sentence: str = ""
    """Says it where the values say nothing to people, as hashes do."""
    one_sided: bool = False
    """Whether only one of the two tells of it at all: a run may be older than a setting."""

    @property
    def changed(self) -> str:
        """Describe it for one thing, then and now."""
        return self.sentence or f"{self._what} is {self._said(self.now)}, was {self._said(self.then)}"

    @property
    def side_by_side(self) -> str:
        """Describe it for two runs, A and B."""
        return self.sentence or f"{self._what}: {self._said(self.then)} in A, {self._said(self.now)} in B"

    @property
    def _what(self) -> str:
        # Names of files and of settings of the kernel are not ours to change.
        return self.name.replace("_", " ") if self.name.isidentifier() else self.name

    def _said(self, value: object) -> str:
        if value is None or value == "":
            return "unset" if self.part in {"settings", "trials"} else "not known"
        return " ".join(str(value).split())


def differences(then: Manifest, now: Manifest) -> Iterator[Difference]:
    """Name what differs of two runs, but for their subjects; who asks leaves out what does not matter to it."""
    if then.version != now.version:
        yield Difference("instrument", "httpdyno", then.version, now.version)
    if then.engine and now.engine and then.engine.sha256 != now.engine.sha256:
        yield Difference("instrument", "engine", sentence="the engine is another build")
    yield from _machine(then.machine, now.machine)
    yield from web_differences(then.webs, now.webs)
    yield from _list(then.urls, now.urls)
    for change in _keys("settings", then.settings, now.settings):
        if change.name not in _HARMLESS_SETTINGS:
            yield change


def web_differences(then: Sequence[WebIdentity], now: Sequence[WebIdentity]) -> Iterator[Difference]:
    """Name what differs of webs; those of the same digest are the same, as the file of a model may have moved."""
    if len(then) != len(now):
        yield Difference("webs", "webs", *(", ".join(web.name for web in webs) or "none" for webs in (then, now)))
        return
    for one, other in zip(then, now, strict=True):
        known = one.digest is not None and other.digest is not None
        if known and one.digest == other.digest:
            continue
        if one.name != other.name:
            yield Difference("webs", "web", one.name, other.name)
        elif one.seed != other.seed:
            yield Difference("webs", f"seed of the web {one.name}", one.seed, other.seed)
        elif known:
            yield Difference("webs", "model", sentence=f"the web {one.name} has another model")


def subject_differences(then: SubjectVersion, now: SubjectVersion) -> Iterator[Difference]:
    """Name what differs of a subject; a version or a hash that is not known of one of the two is not compared."""
    if now.unavailable and not then.unavailable:
        gone = f"it was available, and is not any more: {now.unavailable}"
        yield Difference("subject", "availability", sentence=gone)
    if then.unavailable and not now.unavailable:
        there = f"it was unavailable ({then.unavailable}), and is available now"
        yield Difference("subject", "availability", sentence=there)
    yield from _keys("subject", *({name: digest[:12] for name, digest in of.lockfiles.items()} for of in (then, now)))
    if then.version and now.version and then.version != now.version:
        yield Difference("subject", "version", then.version, now.version)
    if then.fingerprint and now.fingerprint and then.fingerprint != now.fingerprint:
        rebuilt = "its files, or the programs that it is built with, have changed"
        yield Difference("subject", "fingerprint", sentence=rebuilt)


def _machine(then: Machine, now: Machine) -> Iterator[Difference]:
    for name in (field.name for field in fields(Machine)):
        if name not in {"sysctls", "memory_bytes"} and getattr(then, name) != getattr(now, name):
            yield Difference("machine", name, getattr(then, name), getattr(now, name))
    sizes = then.memory_bytes or 0, now.memory_bytes or 0
    if abs(sizes[0] - sizes[1]) > _SAME_MEMORY * max(sizes):
        yield Difference("machine", "memory", *(format_size(size) if size else None for size in sizes))
    yield from _keys("machine", then.sysctls, now.sysctls)


def _list(then: UrlList | None, now: UrlList | None) -> Iterator[Difference]:
    if then is None or now is None:
        if then is not now:
            yield Difference("list", "URLs", one_sided=True)
    elif then.count != now.count:
        yield Difference("list", "URLs", f"{then.count:,}", f"{now.count:,}")
    elif then.sha256 != now.sha256:
        yield Difference("list", "URLs", sentence=f"the {then.count:,} URLs, or their order, differ")


def _keys(
    part: Literal["machine", "settings", "subject"], then: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[Difference]:
    for name in sorted({*then, *now}):
        one_sided = name not in then or name not in now
        if one_sided or then[name] != now[name]:
            yield Difference(part, name, then.get(name), now.get(name), one_sided=one_sided)
