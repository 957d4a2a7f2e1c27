"""The manifest of a run: its fields, the description of the machine, and how two manifests differ."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from httpdyno.errors import UnreadableRun
from httpdyno.model import RECORD_VERSION, format_size
from httpdyno.store.folder import MANIFEST

RunState = Literal["partial", "complete"]
CURE: Final = "measure again, or remove the folder"
"""Advice for a damaged run."""


@dataclass(frozen=True, slots=True)
class GitState:
    """The git checkout of httpdyno that started the run."""

    commit: str
    modified: bool
    """Whether tracked files differed from the commit."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of a run; properties that cannot be read are None or absent."""

    system: str
    kernel: str
    architecture: str
    cpu: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    virtualisation: str | None = None
    governor: str | None = None
    clock_source: str | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineIdentity:
    """The engine of a run: the same digest means the same program."""

    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class UrlList:
    """The list of URLs of every subject."""

    source: str | None
    """File of the list, ``-`` for standard input; None: the web made the list."""
    count: int
    sha256: str
    """Digest of the URLs, one a line."""


@dataclass(frozen=True, slots=True)
class WebIdentity:
    """The crawled web: the same digest means the same web."""

    name: str
    seed: int
    digest: str | None = None
    """None for the real internet."""


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """The measured version of a subject."""

    id: str
    language: str
    method: str
    version: str | None = None
    lockfiles: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each lockfile in its folder, by file name."""
    unavailable: str | None = None
    """Reason why it could not be measured; None if it could."""
    concurrency: int | None = None
    """Requests in flight, unless the condition sets them."""
    folder: str | None = None
    """Path of its folder."""
    http: tuple[str, ...] = ()
    """Versions of HTTP that it claims to support; empty in older runs."""
    fingerprint: str | None = None
    """Hash of its files and of the programs that built it; None before the build."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Content of ``manifest.json``."""

    experiment: str
    command: tuple[str, ...]
    version: str
    """Of httpdyno."""
    started_at: datetime
    machine: Machine
    trials_planned: int
    ended_at: datetime | None = None
    state: RunState = "partial"
    record_version: int = RECORD_VERSION
    git: GitState | None = None
    webs: tuple[WebIdentity, ...] = ()
    subjects: tuple[SubjectVersion, ...] = ()
    settings: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    """The options of the command, with their defaults."""
    engine: EngineIdentity | None = None
    urls: UrlList | None = None
    """None in runs without a list, and in runs of versions that could not resume runs."""
    resumed_at: tuple[datetime, ...] = ()
    """Times at which the run was resumed."""


@cache
def _adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def manifest_to_json(manifest: Manifest) -> bytes:
    """Write a manifest as indented JSON with a line feed at the end."""
    return _adapter().dump_json(manifest, indent=2) + b"\n"


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run, and none of its trials.

    Raises ``UnreadableRun`` if the folder is not a run, is damaged, or was written by a newer version.
    """
    try:
        text = (folder / MANIFEST).read_bytes()
        version = TypeAdapter(dict[str, object]).validate_json(text).get("record_version")
    except FileNotFoundError as error:
        what = "is not a run of httpdyno: it has no manifest.json" if folder.is_dir() else "does not exist"
        raise UnreadableRun(f"{folder} {what}") from error
    except OSError as error:
        raise UnreadableRun(f"{folder}: manifest.json cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise UnreadableRun(f"{folder}: manifest.json is damaged; {CURE}") from error
    if not isinstance(version, int):
        raise UnreadableRun(f"{folder}: manifest.json has no record_version; this is not a run of httpdyno")
    if version > RECORD_VERSION:
        newer = f"records of version {version}; this httpdyno reads up to {RECORD_VERSION}"
        raise UnreadableRun(f"{folder}: written by a newer httpdyno ({newer}); update httpdyno")
    try:
        return _adapter().validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "its shape"
        raise UnreadableRun(f"{folder}: manifest.json is damaged at {place}: {first['msg']}; {CURE}") from error


_SYSCTLS: Final = (
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "kernel.sched_autogroup_enabled",
    "vm.swappiness",
)
_LOCKFILES: Final = (
    "Cargo.lock",
    "Gemfile.lock",
    "bun.lock",
    "composer.lock",
    "deno.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "package-lock.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "requirements.txt",
    "uv.lock",
    "yarn.lock",
)
_GIT_TIMEOUT_S: Final = 10


def describe_machine() -> Machine:
    """Describe the machine by files of the kernel; properties that cannot be read are None."""
    lines = (_text(Path("/proc/cpuinfo")) or "").splitlines()
    # In reverse order the lines of the first CPU overwrite those of the others.
    cpuinfo = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in reversed(lines))}
    sysctls = {name: _text(Path("/proc/sys", *name.split("."))) for name in _SYSCTLS}
    return Machine(
        system=platform.system(),
        kernel=platform.release(),
        architecture=platform.machine(),
        cpu=cpuinfo.get("model name") or cpuinfo.get("Model"),
        cpus=os.cpu_count(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        virtualisation="hypervisor" if "hypervisor" in cpuinfo.get("flags", "").split() else None,
        governor=_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        clock_source=_text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        sysctls={name: value for name, value in sysctls.items() if value is not None},
    )


def describe_git(folder: Path) -> GitState | None:
    """Describe the checkout that contains a folder; None outside of a checkout, or without git."""
    commit = _git(folder, "rev-parse", "HEAD")
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None or status is None else GitState(commit.strip(), bool(status.strip()))


def lockfile_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each lockfile in a subject's folder, by file name."""
    files = [folder / name for name in _LOCKFILES]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        # Without optional locks, a commit at the same time does not fail.
        argv = ["git", "--no-optional-locks", *arguments]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


_SAME_MEMORY: Final = 0.01
"""Largest relative difference in memory between two boots of one machine: the kernel reserves a varying part."""
_HARMLESS_SETTINGS: Final = frozenset({"repeat", "quick", "preset", "time_budget_s"})
"""Settings that change only the number of measurements, or name other settings, and so change no figure."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two runs or of two versions of a subject."""

    part: Literal["instrument", "machine", "webs", "list", "settings", "trials", "subject"]
    name: str
    then: object = None
    now: object = None
    _: KW_ONLY
    sentence: str = ""
    """Text of the difference if its values are hashes, which people cannot read."""
    one_sided: bool = False
    """Whether only one of the two has the value, because a run may be older than a setting."""

    @property
    def changed(self) -> str:
        """Describe the difference between then and now."""
        what, then, now = self._described
        return self.sentence or f"{what} is {now}, was {then}"

    @property
    def side_by_side(self) -> str:
        """Describe the difference between two runs, A and B."""
        what, then, now = self._described
        return self.sentence or f"{what}: {then} in A, {now} in B"

    @property
    def _described(self) -> tuple[str, str, str]:
        # Names of files and of kernel settings keep their underscores.
        what = self.name.replace("_", " ") if self.name.isidentifier() else self.name
        absent = "unset" if self.part in {"settings", "trials"} else "not known"
        then, now = (
            absent if value is None or value == "" else " ".join(str(value).split()) for value in (self.then, self.now)
        )
        return what, then, now


def differences(then: Manifest, now: Manifest) -> Iterator[Difference]:
    """List the differences of two runs, except those of their subjects."""
    if then.version != now.version:
        yield Difference("instrument", "httpdyno", then.version, now.version)
    if then.engine and now.engine and then.engine.sha256 != now.engine.sha256:
        yield Difference("instrument", "engine", sentence="the engine is another build")
    for name in (one.name for one in fields(Machine)):
        values = getattr(then.machine, name), getattr(now.machine, name)
        if name not in {"sysctls", "memory_bytes"} and values[0] != values[1]:
            yield Difference("machine", name, *values)
    sizes = then.machine.memory_bytes or 0, now.machine.memory_bytes or 0
    if abs(sizes[0] - sizes[1]) > _SAME_MEMORY * max(sizes):
        yield Difference("machine", "memory", *(format_size(size) if size else None for size in sizes))
    yield from _keys("machine", then.machine.sysctls, now.machine.sysctls)
    yield from web_differences(then.webs, now.webs)
    yield from _list_differences(then.urls, now.urls)
    for change in _keys("settings", then.settings, now.settings):
        if change.name not in _HARMLESS_SETTINGS:
            yield change


def web_differences(then: Sequence[WebIdentity], now: Sequence[WebIdentity]) -> Iterator[Difference]:
    """List the differences of webs; the same digest is the same web, even if the file of its model has moved."""
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
    """List the differences of a subject; a version or hash that is unknown on one side is not compared."""
    sentence = ""
    if now.unavailable and not then.unavailable:
        sentence = f"it was available, and is not now: {now.unavailable}"
    elif then.unavailable and not now.unavailable:
        sentence = f"it was unavailable ({then.unavailable}), and is available now"
    if sentence:
        yield Difference("subject", "availability", sentence=sentence)
    yield from _keys("subject", *({name: digest[:12] for name, digest in of.lockfiles.items()} for of in (then, now)))
    if then.version and now.version and then.version != now.version:
        yield Difference("subject", "version", then.version, now.version)
    if then.fingerprint and now.fingerprint and then.fingerprint != now.fingerprint:
        rebuilt = "its files, or the programs that build it, have changed"
        yield Difference("subject", "fingerprint", sentence=rebuilt)


def _list_differences(then: UrlList | None, now: UrlList | None) -> Iterator[Difference]:
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
