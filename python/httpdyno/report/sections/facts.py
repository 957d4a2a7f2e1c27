"""Facts of a run that are needed to repeat it: the machine, the web, the versions, the settings."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from httpdyno.judge.notes import http_2_share, unlimited_notes
from httpdyno.judge.wording import listed
from httpdyno.model import LIVE, Trial, counted, format_size
from httpdyno.stats import median
from httpdyno.store import Manifest, SubjectVersion, WebIdentity


def run_facts(
    manifest: Manifest, trials: Sequence[Trial], *, blocks: bool = True, urls: bool = True
) -> tuple[tuple[str, str], ...]:
    """Return facts of the run, its machine, its web and its versions by name, without unknown ones.

    ``blocks``: whether the trials ran in random blocks; ``urls``: whether subjects had a list of URLs.
    """
    settings, machine = manifest.settings, manifest.machine
    count = counted(len({trial.block for trial in trials}), "random block")
    shared = f", in {count}" if trials and blocks else ""
    modified = ", modified" if manifest.git and manifest.git.modified else ""
    commit = f" (commit {manifest.git.commit[:12]}{modified})" if manifest.git else ""
    clocks = _prefixed("governor ", machine.governor), _prefixed("clock source ", machine.clock_source)
    ways = [trial.counters.against for trial in trials if trial.counters.against is not None]
    round_trips = _prefixed("there and back in ", _between([way.rtt_min_ns for way in ways]))
    clock = _prefixed("its clock known to ", _between([way.clock_bound_ns for way in ways]))
    sizes = [] if machine.cpus is None else [counted(machine.cpus, "CPU")]
    sizes += [] if machine.memory_bytes is None else [f"{format_size(machine.memory_bytes)} memory"]
    virtual = machine.virtualisation and f"virtual ({machine.virtualisation})"
    sysctls = sorted((name, value) for name, value in machine.sysctls.items() if value)
    facts = [
        ("When", _when(manifest)),
        ("Trials", f"{len(trials)} of {manifest.trials_planned}{shared}"),
        ("URLs", _listed_once(f"{trial.urls_given:,}" for trial in trials if urls and trial.urls_given)),
        ("Web", "" if settings.get("peer") else "; ".join(map(_web, manifest.webs))),
        ("Peer", str(settings.get("peer") or "")),
        ("URLs of a host", _per_host(manifest)),
        ("User agent", str(settings.get("user_agent") or "")),
        ("Link", _listed_once(trial.link for trial in trials)),
        ("Other machine", _listed_once((*(way.address for way in ways), round_trips, clock))),
        ("Timeout", _listed_once(f"{trial.timeout_ns / 1e9:g} s a URL" for trial in trials if urls)),
        ("Machine", _listed_once((machine.cpu, *sizes, virtual))),
        ("System", _listed_once((f"{machine.system} {machine.kernel} on {machine.architecture}", *clocks))),
        ("CPUs of the trial", _pinning(trials)),
        ("Memory limit", _memory_limit(trials)),
        ("Transport", _transport(trials)),
        ("Kernel settings", ", ".join(f"{name}={' '.join(value.split())}" for name, value in sysctls)),
        ("httpdyno", f"{manifest.version}{commit}"),
        *((f"{subject.language} {subject.method}", _subject(subject, trials)) for subject in manifest.subjects),
    ]
    return tuple((name, text) for name, text in facts if text)


def _when(manifest: Manifest) -> str:
    started = f"{manifest.started_at:%Y-%m-%d %H:%M} UTC"
    if manifest.ended_at is None:
        return started
    return f"{started}, took {timedelta(seconds=round((manifest.ended_at - manifest.started_at).total_seconds()))}"


def _web(web: WebIdentity) -> str:
    if web.name == LIVE:
        return "live: the real internet, where no answer can be checked"
    return f"{web.name}, seed {web.seed}{_prefixed(', digest ', web.digest)}"


def _per_host(manifest: Manifest) -> str:
    """Describe the limit of requests to one host; all webs of a run are real, or all are emulated."""
    if not any(web.name == LIVE for web in manifest.webs):
        return ""
    per_host, interval_s = (manifest.settings.get(name) for name in ("per_host", "per_host_interval_s"))
    return f"{per_host} at a time" + (f", one every {interval_s} s" if interval_s else "")


def _pinning(trials: Sequence[Trial]) -> str:
    roles: dict[str, set[int]] = {}
    for cpu in (cpu for trial in trials for cpu in trial.counters.cpus or ()):
        roles.setdefault(cpu.role, set()).add(cpu.cpu)
    return "; ".join(f"{role}: {listed(list(map(str, sorted(cpus))))}" for role, cpus in sorted(roles.items()))


def _memory_limit(trials: Sequence[Trial]) -> str:
    kept = _listed_once(
        f"{format_size(counters.memory_limit_bytes)} by {counters.memory_limit_enforced_by}"
        for counters in (trial.counters for trial in trials)
        if counters.memory_limit_bytes is not None and counters.memory_limit_enforced_by
    )
    return "; ".join(filter(None, (kept, *unlimited_notes(trials))))


def _transport(trials: Sequence[Trial]) -> str:
    fields = {
        "origin": "origin_congestion_control",
        "subject": "subject_congestion_control",
        "key exchange": "key_exchange_groups",
    }
    values = {name: _listed_once(getattr(t.counters, field) for t in trials) for name, field in fields.items()}
    return _listed_once(_prefixed(f"{name} ", value) for name, value in values.items())


def _between(times_ns: Sequence[int | None]) -> str:
    known = [time_ns / 1e6 for time_ns in times_ns if time_ns is not None]
    ends = dict.fromkeys(f"{end:.3f}" for end in (min(known), max(known))) if known else ()
    return f"{' to '.join(ends)} ms" if ends else ""


def _subject(subject: SubjectVersion, trials: Sequence[Trial]) -> str:
    seen = median(http_2_share(trial) for trial in trials if trial.subject == subject.id)
    claims = _prefixed("claims HTTP/", " and ".join(subject.http))
    share = "" if seen is None else f"the origin saw HTTP/2 in {100 * seen:.0f} % of its requests"
    return "; ".join(filter(None, (subject.version, claims, share)))


def _listed_once(texts: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(filter(None, texts)))


def _prefixed(prefix: str, text: str | None) -> str:
    return f"{prefix}{text}" if text else ""
