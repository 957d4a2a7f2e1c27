"""Facts of a run that are needed to repeat it: the machine, the web, the versions, the settings."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from httpdyno.judge.notes import http_2_share, unlimited_notes
from httpdyno.judge.wording import listed
from httpdyno.model import LIVE, Trial, format_size
from httpdyno.stats import median
from httpdyno.store import Machine, Manifest, SubjectVersion, WebIdentity


def run_facts(manifest: Manifest, trials: Sequence[Trial], *, blocks: bool = True) -> tuple[tuple[str, str], ...]:
    """Return facts of the run, its machine, its web and its versions by name, without unknown ones.

    ``blocks``: whether its trials stood in random blocks.
    """
    facts = [
        ("When", _when(manifest)),
        ("Trials", _trials(manifest, trials, blocks=blocks)),
        ("URLs", _listed_once(f"{trial.urls_given:,}" for trial in trials if trial.urls_given)),
        ("Web", "" if manifest.settings.get("peer") else "; ".join(map(_web, manifest.webs))),
        ("Peer", str(manifest.settings.get("peer") or "")),
        ("URLs of a host", _per_host(manifest)),
        ("User agent", str(manifest.settings.get("user_agent") or "")),
        ("Link", _listed_once(trial.link for trial in trials)),
        ("Other machine", _other_machine(trials)),
        ("Timeout", _listed_once(f"{trial.timeout_ns / 1e9:g} s a URL" for trial in trials)),
        ("Machine", _machine(manifest.machine)),
        ("System", _system(manifest.machine)),
        ("CPUs of the trial", _pinning(trials)),
        ("Memory limit", _memory_limit(trials)),
        ("Transport", _transport(trials)),
        ("Kernel settings", ", ".join(f"{name}={' '.join(value.split())}" for name, value in _settings(manifest))),
        ("httpdyno", _version(manifest)),
        *((f"{subject.language} {subject.method}", _subject(subject, trials)) for subject in manifest.subjects),
    ]
    return tuple((name, text) for name, text in facts if text)


def _when(manifest: Manifest) -> str:
    started = f"{manifest.started_at:%Y-%m-%d %H:%M} UTC"
    if manifest.ended_at is None:
        return started
    return f"{started}, took {timedelta(seconds=round((manifest.ended_at - manifest.started_at).total_seconds()))}"


def _trials(manifest: Manifest, trials: Sequence[Trial], *, blocks: bool) -> str:
    count = len({trial.block for trial in trials})
    shared = f", in {count} random block{'' if count == 1 else 's'}" if trials and blocks else ""
    return f"{len(trials)} of {manifest.trials_planned}{shared}"


def _web(web: WebIdentity) -> str:
    digest = f", digest {web.digest}" if web.digest else ""
    if web.name == LIVE:
        return "live: the real internet, where no answer can be verified"
    return f"{web.name}, seed {web.seed}{digest}"


def _per_host(manifest: Manifest) -> str:
    """Describe the highest rate of requests to one host; the webs of a run are all real, or none is."""
    if not any(web.name == LIVE for web in manifest.webs):
        return ""
    settings = manifest.settings
    interval = f", one every {settings['per_host_interval_s']} s" if settings.get("per_host_interval_s") else ""
    return f"{settings.get('per_host')} at a time{interval}"


def _machine(machine: Machine) -> str:
    cpus = "" if machine.cpus is None else f"{machine.cpus} CPU{'' if machine.cpus == 1 else 's'}"
    memory = "" if machine.memory_bytes is None else f"{format_size(machine.memory_bytes)} memory"
    virtual = f"virtual ({machine.virtualisation})" if machine.virtualisation else ""
    return ", ".join(part for part in (machine.cpu, cpus, memory, virtual) if part)


def _system(machine: Machine) -> str:
    governor = f"governor {machine.governor}" if machine.governor else ""
    clock = f"clock source {machine.clock_source}" if machine.clock_source else ""
    system = f"{machine.system} {machine.kernel} on {machine.architecture}"
    return ", ".join(part for part in (system, governor, clock) if part)


def _pinning(trials: Sequence[Trial]) -> str:
    pinned = {(cpu.role, cpu.cpu) for trial in trials for cpu in trial.counters.cpus or ()}
    roles = sorted({role for role, _ in pinned})
    return "; ".join(
        f"{role}: {listed([str(number) for other, number in sorted(pinned) if other == role])}" for role in roles
    )


def _memory_limit(trials: Sequence[Trial]) -> str:
    """Describe the memory limit of subjects and its mechanism, or why there was none."""
    limits = [trial.counters for trial in trials if trial.counters.memory_limit_bytes is not None]
    kept = _listed_once(
        f"{format_size(counters.memory_limit_bytes or 0)} by {counters.memory_limit_enforced_by}"
        for counters in limits
        if counters.memory_limit_enforced_by
    )
    return "; ".join(part for part in (kept, *unlimited_notes(trials)) if part)


def _transport(trials: Sequence[Trial]) -> str:
    counters = [trial.counters for trial in trials]
    parts = (
        ("origin", _listed_once(one.origin_congestion_control for one in counters)),
        ("subject", _listed_once(one.subject_congestion_control for one in counters)),
        ("key exchange", _listed_once(one.key_exchange_groups for one in counters)),
    )
    return ", ".join(f"{name} {text}" for name, text in parts if text)


def _other_machine(trials: Sequence[Trial]) -> str:
    """Describe how far another machine's origin was, and how well its clock was known, over all trials."""
    ways = [trial.counters.against for trial in trials if trial.counters.against is not None]
    parts = (
        ("", _listed_once(way.address for way in ways)),
        ("there and back in ", _between([way.rtt_min_ns for way in ways])),
        ("its clock known to ", _between([way.clock_bound_ns for way in ways])),
    )
    return ", ".join(f"{name}{text}" for name, text in parts if text)


def _between(times_ns: Sequence[int | None]) -> str:
    known = [time_ns / 1e6 for time_ns in times_ns if time_ns is not None]
    if not known:
        return ""
    low, high = f"{min(known):.3f}", f"{max(known):.3f}"
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def _settings(manifest: Manifest) -> list[tuple[str, str]]:
    return sorted((name, value) for name, value in manifest.machine.sysctls.items() if value)


def _version(manifest: Manifest) -> str:
    if manifest.git is None:
        return manifest.version
    modified = ", modified" if manifest.git.modified else ""
    return f"{manifest.version} (commit {manifest.git.commit[:12]}{modified})"


def _subject(subject: SubjectVersion, trials: Sequence[Trial]) -> str:
    """Describe which version a subject is of, and which versions of HTTP it claims and was seen to speak."""
    shares = [http_2_share(trial) for trial in trials if trial.subject == subject.id]
    seen = median(shares)
    parts = (
        subject.version or "",
        f"claims HTTP/{' and '.join(subject.http)}" if subject.http else "",
        "" if seen is None else f"the origin saw HTTP/2 in {100 * seen:.0f} % of its requests",
    )
    return "; ".join(part for part in parts if part)


def _listed_once(texts: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))
