"""Plan of a load for the clients of a run: a table, its answer in words, and the command that checks it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

import httpdyno
from httpdyno.errors import NothingMeasured, UsageError
from httpdyno.judge import counting_trials, placing_trials, verdict_of
from httpdyno.judge.machine_plan import (
    AnswerFigures,
    Check,
    Estimate,
    Load,
    Machine,
    MachinePlan,
    Resource,
    answer_figures,
    check_of,
    covers_several_sizes,
    plan_machines,
)
from httpdyno.judge.rankable import grouped
from httpdyno.model import Column, ColumnKind, Note, Table, Trial, Validity, format_exact, format_rate, format_size
from httpdyno.report.sections.tables import subject_names
from httpdyno.store import Run, open_run, read_manifest, run_folders

__all__ = ["PlanSource", "default_source", "example_source", "example_text", "plan_table", "source_of_run"]

_EXAMPLE: Final = Path(httpdyno.__file__).parent / "data" / "example-run.json"
_MIB: Final = 2**20
_GIGABIT: Final = 1e9
_ALIKE_SIZES: Final = 0.1
"""Planned answers that differ by less than this share from the measured ones cost the same."""
_MUCH_LESS_BUSY: Final = 0.5
_NEARLY_FULL: Final = 0.8
_INTEGER, _DECIMAL = ColumnKind.INTEGER, ColumnKind.DECIMAL
_SHOWN: Final = (
    Column("client"),
    # Quantities are texts with their interval, but right-aligned, like numbers.
    Column("cores", _DECIMAL),
    Column("machines", _INTEGER),
    Column("in_flight", _INTEGER),
    Column("memory_mib", _INTEGER),
    Column("gbit_per_s", _DECIMAL),
    Column("sockets", _INTEGER, dispensable=True),
    Column("limit"),
)


@dataclass(frozen=True, slots=True)
class PlannedClient:
    """A client of a run, with the figures of the trials that count."""

    subject: str
    client: str
    verdict: str
    trials: tuple[AnswerFigures, ...]


@dataclass(frozen=True, slots=True)
class PlanSource:
    """Source of the figures of a plan."""

    run: str
    """The run's folder or, for the one that ships with httpdyno, ``the shipped example run``."""
    origin: str
    """Date, CPU and webs of the measurement."""
    clients: tuple[PlannedClient, ...]
    shipped: bool = False


def source_of_run(run: Run) -> PlanSource:
    """Return the figures of the clients of a run.

    Raises
    ------
    NothingMeasured
        If no trial has the figures that a plan needs.
    UsageError
        If its trials differ by their link: figures over several distances are no answer to one load.
    """
    trials = run.records()
    names = subject_names(trials, ())
    of_subject: dict[str, list[AnswerFigures]] = {}
    verdicts: dict[str, str] = {}
    links = {trial.link for trial in trials}
    if len(links) > 1:
        raise UsageError(
            f"{run.folder}: plan needs a run over one link, this one has {len(links)}; name another, or make one with:"
            " httpdyno bench CLIENT"
        )
    for (_, subject), own in grouped(trials).items():
        figures = [found for trial in _counting(own) if (found := answer_figures(trial))]
        of_subject.setdefault(subject, []).extend(figures)
        verdict = verdict_of(own, disturbed=bool(placing_trials(own)))
        if verdicts.get(subject, Validity.VALID.value) == Validity.VALID.value:
            verdicts[subject] = verdict
    clients = tuple(
        PlannedClient(subject, names[subject], verdicts[subject], tuple(figures))
        for subject, figures in of_subject.items()
    )
    if not any(client.trials for client in clients):
        raise NothingMeasured(
            f"{run.folder}: no trial has CPU time, bytes and times of right answers; plan from a run of:"
            " httpdyno bench CLIENT"
        )
    return PlanSource(str(run.folder), _origin(run), clients)


def default_source(runs: Path, experiment: str) -> PlanSource:
    """Return the figures of the latest run of an experiment that has some, else those of the shipped example run."""
    for folder in run_folders(runs):
        try:
            if read_manifest(folder).experiment == experiment:
                return source_of_run(open_run(folder))
        except (UsageError, NothingMeasured):
            continue
    return example_source()


def example_source() -> PlanSource:
    """Return the figures of the run that ships with httpdyno."""
    kept = json.loads(_EXAMPLE.read_text(encoding="utf-8"))
    clients = tuple(
        PlannedClient(**{**client, "trials": tuple(AnswerFigures(**trial) for trial in client["trials"])})
        for client in kept["clients"]
    )
    return PlanSource("the shipped example run", kept["origin"], clients, shipped=True)


def example_text(source: PlanSource, command: Sequence[str]) -> str:
    """Write the figures of a run as ``example_source`` reads them."""
    kept = {
        "about": "Figures that `httpdyno plan` uses where no run is named; written by scripts/write-plan-example",
        "command": " ".join(command),
        "origin": source.origin,
        "clients": [asdict(client) for client in source.clients],
    }
    return json.dumps(kept, indent=1) + "\n"


def plan_table(
    source: PlanSource, rate: str, load: Load, machine: Machine, *, for_programs: bool, peak: float = 1.0
) -> Table:
    """Return the plan of each client, the one with the fewest cores first.

    Parameters
    ----------
    rate : str
        The load as it was typed: ``1e9/week``.
    load : Load
        The load at its peak.
    for_programs : bool
        Whether each quantity has a column with its unit and two for its interval.
    peak : float
        Load at its peak over its mean, already part of ``load``.
    """
    planned = [(client, plan_machines(client.trials, load, machine)) for client in source.clients if client.trials]
    planned.sort(key=lambda pair: (pair[1].cores.value, pair[0].subject))
    if for_programs:
        rows = [_full_row(source, client, plan, load) for client, plan in planned]
        columns = tuple(Column(name, kind, unit, description) for name, kind, unit, description in _FULL)
        return Table(columns, tuple(tuple(row[column.name] for column in columns) for row in rows))
    return Table(
        _SHOWN,
        tuple(_shown_row(client, plan) for client, plan in planned),
        title=_answer(planned, rate, load, machine, peak),
        notes=tuple(map(Note, _notes(source, planned, load, machine))),
    )


def _counting(trials: Sequence[Trial]) -> Sequence[Trial]:
    return placing_trials(trials) or counting_trials(trials)


def _origin(run: Run) -> str:
    manifest = run.manifest
    webs = ", ".join(web.name for web in manifest.webs)
    date = manifest.started_at.date().isoformat()
    return ", ".join(part for part in (date, manifest.machine.cpu, webs and f"web {webs}") if part)


def _answer(
    planned: Sequence[tuple[PlannedClient, MachinePlan]], rate: str, load: Load, machine: Machine, peak: float
) -> str:
    (first, plan), *others = planned
    at_peak = "" if peak == 1 else f" at {peak:g} times the mean"
    answer = (
        f"{rate} is {_number(load.rate_per_s)} answers a second{at_peak}. {first.client} needs "
        f"{_range(plan.cores)} cores, {_number(plan.in_flight.value)} requests in flight and "
        f"{_number(plan.bits_per_s.value / _GIGABIT)} Gbit/s: {_machines(plan)} of {machine.cores} cores, limited by "
        f"{plan.limit.value} ({100 * plan.used_share:.0f} % used)."
    )
    if others:
        last, most = others[-1]
        answer += f" {last.client} needs most: {_range(most.cores)} cores, {_machines(most)}."
    return answer


def _machines(plan: MachinePlan) -> str:
    count = _machine_range(plan)
    return f"{count} machine{'' if count == '1' else 's'}"


def _machine_range(plan: MachinePlan) -> str:
    low, high = plan.machines_low, plan.machines_high
    return f"{low}" if low == high else f"{low} to {high}"


def _notes(
    source: PlanSource, planned: Sequence[tuple[PlannedClient, MachinePlan]], load: Load, machine: Machine
) -> list[str]:
    client, plan = planned[0]
    per_machine = f"{machine.cores} cores, {format_size(machine.memory_bytes)}, " + format_rate(
        round(machine.bandwidth_bits_per_s)
    )
    own = "; measure your own: httpdyno bench CLIENT" if source.shipped else ""
    notes = [f"figures: {source.run} ({source.origin}){own}", _model(plan, load)]
    notes.append(f"a machine: {per_machine}; limit: what runs out first; no reserve is included (--peak 2 doubles)")
    notes += _interval_note(planned)
    notes += _size_note(planned, load)
    notes += _full_note(plan)
    notes += _busy_note(client, plan)
    notes += _doubt_notes(source, client)
    check = check_of(plan, load, client.trials[0].cpus)
    notes.append(f"check with {_share_text(check)} of one machine's load: {_command(client.subject, check)}")
    return notes


def _model(plan: MachinePlan, load: Load) -> str:
    """Describe the planned answer: its size, its time, its round trips."""
    text = f"an answer: {format_size(plan.answer_bytes.value)} received in {_number(plan.answer_ms.value)} ms"
    if load.round_trip_ms:
        trips = f"{_number(plan.round_trips.value)} round trips of {load.round_trip_ms:g} ms"
        text += f", {trips} (new connections included) on top of the measured time"
    return f"{text}; in flight = rate x time (Little's law)"


def _interval_note(planned: Sequence[tuple[PlannedClient, MachinePlan]]) -> list[str]:
    counts = [plan.trials for _, plan in planned]
    levels = [plan.cores.interval.level for _, plan in planned if plan.cores.interval]
    if not levels:
        return ["one trial each: no intervals; repeat with: httpdyno bench --repeat 3"]
    trials = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return [f"±: interval of the median of {trials} trials; confidence {100 * min(levels):.0f} % or more"]


def _size_note(planned: Sequence[tuple[PlannedClient, MachinePlan]], load: Load) -> list[str]:
    """Warn where cores are planned with the CPU time of answers of another size."""
    sizes = [Estimate.of([trial.received_bytes for trial in client.trials]).value for client, _ in planned]
    if load.answer_bytes is None or any(covers_several_sizes(client.trials) for client, _ in planned):
        return []
    if all(abs(load.answer_bytes / size - 1) <= _ALIKE_SIZES for size in sizes):
        return []
    return [
        f"cores: CPU time of the measured answers ({format_size(min(sizes))}); --bytes changes the bandwidth alone. "
        "For CPU time over size, plan from: httpdyno capacity CLIENT --size 0,50KiB,...,200KiB"
    ]


def _full_note(plan: MachinePlan) -> list[str]:
    """Warn where the bandwidth is nearly used up: answers then queue, which the plan does not model."""
    share = plan.shares[Resource.BANDWIDTH].value / plan.machines
    if share <= _NEARLY_FULL:
        return []
    return [f"bandwidth: {100 * share:.0f} % used; above 80 % answers queue, and in_flight is a lower bound"]


def _busy_note(client: PlannedClient, plan: MachinePlan) -> list[str]:
    """Warn where the planned processes are much less busy than the measured one: each answer then costs more."""
    shares = [trial.busy_share for trial in client.trials if trial.busy_share is not None]
    if not shares:
        return []
    measured = Estimate.of(shares).value
    planned = plan.cores.value / (plan.processes.value * client.trials[0].cpus)
    if planned >= _MUCH_LESS_BUSY * measured:
        return []
    return [
        f"cores: the measured process of {client.client} was {100 * measured:.0f} % busy, the planned one is "
        f"{100 * planned:.1g} %: an answer then costs more CPU time, up to several times as much"
    ]


def _doubt_notes(source: PlanSource, first: PlannedClient) -> list[str]:
    notes = []
    shares = [trial.ok_share for trial in first.trials if trial.ok_share is not None]
    if shares and min(shares) < 0.99:
        pages = Estimate.of(shares).value
        notes.append(
            f"answers: {100 * pages:.0f} % have content (2xx), the others are errors, as on the web; for a number of "
            f"pages plan {_number(1 / pages)} times as many"
        )
    doubtful = [f"{client.client} ({client.verdict})" for client in source.clients if _doubtful(client)]
    if doubtful:
        notes.append(f"not VALID: {', '.join(doubtful)}")
    without = [client.client for client in source.clients if not client.trials]
    if without:
        notes.append(f"not planned, for lack of figures: {', '.join(without)}")
    return notes


def _doubtful(client: PlannedClient) -> bool:
    return bool(client.trials) and client.verdict not in {"", Validity.VALID.value}


def _share_text(check: Check) -> str:
    part = round(1 / check.share)
    return "a tenth" if part == 10 else f"1/{part}"


def _command(subject: str, check: Check) -> str:
    """Write a check as the command that makes it."""
    rps = float(f"{check.rate_per_s:.3g}")
    words = ["httpdyno capacity", subject, "--rps", format_exact(max(rps, 0.01)).removesuffix(".0")]
    words += ["--size", _size_text(check.size_bytes)]
    words += ["--delay", f"{check.delay_ms}ms"] if check.delay_ms else []
    words += ["--rtt", f"{check.round_trip_ms:g}ms"] if check.round_trip_ms else []
    return " ".join([*words, "--concurrency", str(check.concurrency)])


def _size_text(size_bytes: int) -> str:
    return f"{round(size_bytes / 1024)}KiB" if size_bytes >= 10 * 1024 else str(size_bytes)


def _shown_row(client: PlannedClient, plan: MachinePlan) -> tuple[str, ...]:
    return (
        client.client,
        _spread(plan.cores),
        _machine_range(plan),
        _spread(plan.in_flight),
        _spread(plan.memory_bytes, _MIB),
        _spread(plan.bits_per_s, _GIGABIT),
        _number(plan.sockets.value),
        plan.limit.value,
    )


def _spread(estimate: Estimate, unit: float = 1.0) -> str:
    """Write a value with the farther end of its interval in percent: ``2.72 ±12%``."""
    text = _number(estimate.value / unit)
    if estimate.interval is None or not estimate.value:
        return text
    far = max(estimate.high - estimate.value, estimate.value - estimate.low) / estimate.value
    return f"{text} ±{ceil(100 * round(far, 6))}%"


def _range(estimate: Estimate) -> str:
    """Write a value with its interval: ``2.7 (2.6 to 3.3)``."""
    value, low, high = (_number(number) for number in (estimate.value, estimate.low, estimate.high))
    return value if low == high else f"{value} ({low} to {high})"


def _number(value: float) -> str:
    """Write a number with three significant digits, or all before the point: ``0.0324``, ``2.72``, ``132,000``."""
    if value >= 1000:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:.3g}"


_TEXT: Final = ColumnKind.TEXT
_NUMBER: Final = ColumnKind.NUMBER
_QUANTITIES: Final[tuple[tuple[str, str, str, Callable[[MachinePlan], Estimate], float], ...]] = (
    ("cores", "", "cores that this load keeps busy", lambda plan: plan.cores, 1.0),
    ("in_flight", "", "requests in flight", lambda plan: plan.in_flight, 1.0),
    ("processes", "", "processes like the measured one", lambda plan: plan.processes, 1.0),
    ("memory_mib", "MiB", "memory of these processes", lambda plan: plan.memory_bytes, _MIB),
    ("gbit_per_s", "Gbit/s", "received", lambda plan: plan.bits_per_s, _GIGABIT),
    ("sockets", "", "open, or closed less than 60 s ago", lambda plan: plan.sockets, 1.0),
    ("connections_per_s", "1/s", "connections opened", lambda plan: plan.connections_per_s, 1.0),
    ("answer_ms", "ms", "time of an answer, the distance included", lambda plan: plan.answer_ms, 1.0),
    ("answer_bytes", "bytes", "received for an answer", lambda plan: plan.answer_bytes, 1.0),
    ("round_trips", "", "round trips of an answer", lambda plan: plan.round_trips, 1.0),
)
_FULL: Final = (
    ("subject", _TEXT, "", "the client's id"),
    ("client", _TEXT, "", "language and library"),
    ("rate_per_s", _NUMBER, "1/s", "answers a second, at the peak"),
    ("machines", _INTEGER, "", "machines that the scarcest resource asks for"),
    ("machines_low", _INTEGER, "", "for the lower ends of the intervals"),
    ("machines_high", _INTEGER, "", "for the upper ends of the intervals"),
    ("limit", _TEXT, "", "resource that runs out first"),
    *((f"{resource.value.lower()}_share", _NUMBER, "", "machines it alone asks for") for resource in Resource),
    *(
        (name + end, _NUMBER, unit, description)
        for name, unit, description, _, _ in _QUANTITIES
        for end in ("", "_low", "_high")
    ),
    ("confidence", _NUMBER, "", "of the intervals, 0 to 1"),
    ("trials", _INTEGER, "", "trials that the figures come from"),
    ("verdict", _TEXT, "", "whether these trials can be trusted"),
    ("check_share", _NUMBER, "", "share of one machine's load that the check asks for"),
    ("check", _TEXT, "", "command that checks the plan"),
    ("figures", _TEXT, "", "run that the figures come from"),
)


def _full_row(source: PlanSource, client: PlannedClient, plan: MachinePlan, load: Load) -> Mapping[str, Any]:
    check = check_of(plan, load, client.trials[0].cpus)
    row: dict[str, Any] = {
        "subject": client.subject,
        "client": client.client,
        "rate_per_s": load.rate_per_s,
        "machines": plan.machines,
        "machines_low": plan.machines_low,
        "machines_high": plan.machines_high,
        "limit": plan.limit.value,
        "confidence": plan.cores.interval.level if plan.cores.interval else None,
        "trials": plan.trials,
        "verdict": client.verdict,
        "check_share": check.share,
        "check": _command(client.subject, check),
        "figures": f"{source.run} ({source.origin})",
    }
    row |= {f"{resource.value.lower()}_share": share.value for resource, share in plan.shares.items()}
    for name, _, _, read, unit in _QUANTITIES:
        estimate = read(plan)
        ends = (None, None) if estimate.interval is None else (estimate.low / unit, estimate.high / unit)
        row |= {name: estimate.value / unit, f"{name}_low": ends[0], f"{name}_high": ends[1]}
    return row
