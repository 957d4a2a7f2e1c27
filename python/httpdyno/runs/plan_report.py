"""Plan of a load for the clients of a run: a table, its answer in words, and the command that checks it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

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
from httpdyno.model import (
    Cell,
    Column,
    ColumnKind,
    Note,
    Table,
    Validity,
    format_exact,
    format_rate,
    format_size,
)
from httpdyno.report.sections.tables import subject_names
from httpdyno.store import Run, open_run, read_manifest, run_folders

_EXAMPLE: Final = Path(httpdyno.__file__).parent / "data" / "example-run.json"
_MIB: Final = 2**20
_GIGABIT: Final = 1e9
_ALIKE_SIZES: Final = 0.1
"""Planned answers whose size differs by less than this share from the measured ones cost the same."""
_MUCH_LESS_BUSY: Final = 0.5
_NEARLY_FULL: Final = 0.8
_INTEGER, _DECIMAL = ColumnKind.INTEGER, ColumnKind.DECIMAL


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


@dataclass(frozen=True, slots=True)
class _Planned:
    """One row: the plan of a client, and the load that checks this plan."""

    source: PlanSource
    load: Load
    client: PlannedClient
    plan: MachinePlan
    check: Check


def source_of_run(run: Run) -> PlanSource:
    """Return the figures of the clients of a run.

    Raises
    ------
    NothingMeasured
        If no trial has the figures that a plan needs.
    UsageError
        If its trials differ by their link: figures from several distances cannot plan one load.
    """
    trials = run.records()
    names = subject_names(trials, ())
    of_subject: dict[str, list[AnswerFigures]] = {}
    verdicts: dict[str, str] = {}
    links = {trial.link for trial in trials}
    if len(links) > 1:
        raise UsageError(
            f"{run.folder}: plan needs a run over one link, and this run has {len(links)}; name another, or make one"
            " with: httpdyno bench CLIENT"
        )
    for (_, subject), own in grouped(trials).items():
        counting = placing_trials(own) or counting_trials(own)
        figures = [found for trial in counting if (found := answer_figures(trial))]
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
    webs = ", ".join(web.name for web in run.manifest.webs)
    origin = (run.manifest.started_at.date().isoformat(), run.manifest.machine.cpu, webs and f"web {webs}")
    return PlanSource(str(run.folder), ", ".join(filter(None, origin)), clients)


def default_source(runs: Path, experiment: str) -> PlanSource:
    """Return the figures of the latest run of an experiment that has some, else those of the shipped example run."""
    for folder in run_folders(runs):
        try:
            if read_manifest(folder).experiment == experiment:
                return source_of_run(open_run(folder))
        except (UsageError, NothingMeasured):
            continue
    kept = json.loads(_EXAMPLE.read_text(encoding="utf-8"))
    clients = TypeAdapter(tuple[PlannedClient, ...]).validate_python(kept["clients"])
    return PlanSource("the shipped example run", kept["origin"], clients, shipped=True)


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
    planned = []
    for client in source.clients:
        if client.trials:
            plan = plan_machines(client.trials, load, machine)
            planned.append(_Planned(source, load, client, plan, check_of(plan, load, client.trials[0].cpus)))
    planned.sort(key=lambda row: (row.plan.cores.value, row.client.subject))
    columns, readers = zip(*(_FULL if for_programs else _SHOWN), strict=True)
    rows = tuple(tuple(read(row) for read in readers) for row in planned)
    if for_programs:
        return Table(columns, rows)
    notes = tuple(map(Note, _notes(planned, machine)))
    return Table(columns, rows, _answer(planned, rate, machine, peak), notes)


def _answer(planned: Sequence[_Planned], rate: str, machine: Machine, peak: float) -> str:

    def machines(plan: MachinePlan) -> str:
        return f"{_machine_range(plan)} machine{'' if plan.machines_high == 1 else 's'}"

    first, *others = planned
    plan, at_peak = first.plan, "" if peak == 1 else f" at {peak:g} times the mean"
    answer = (
        f"{rate} is {number_text(first.load.rate_per_s)} answers a second{at_peak}. {first.client.client} needs "
        f"{range_text(plan.cores)} cores, {number_text(plan.in_flight.value)} requests in flight and "
        f"{number_text(plan.bits_per_s.value / _GIGABIT)} Gbit/s: {machines(plan)} of {machine.cores:g} cores, "
        f"limited by {plan.limit.value} ({100 * plan.used_share:.0f} % used)."
    )
    if others:
        last, most = others[-1].client, others[-1].plan
        answer += f" {last.client} needs most: {range_text(most.cores)} cores, {machines(most)}."
    return answer


def _machine_range(plan: MachinePlan) -> str:
    low, high = plan.machines_low, plan.machines_high
    return f"{low}" if low == high else f"{low} to {high}"


def _notes(planned: Sequence[_Planned], machine: Machine) -> Iterator[str]:
    """Yield the notes on all rows, and on the figures and the plan of the first one."""
    first = planned[0]
    source, load, plan, check = first.source, first.load, first.plan, first.check
    own = "; measure your own: httpdyno bench CLIENT" if source.shipped else ""
    yield f"figures: {source.run} ({source.origin}){own}"
    answer = f"an answer: {format_size(plan.answer_bytes.value)} received in {number_text(plan.answer_ms.value)} ms"
    if load.round_trip_ms:
        trips = f"{number_text(plan.round_trips.value)} round trips of {load.round_trip_ms:g} ms"
        answer += f", {trips} (new connections included) on top of the measured time"
    yield f"{answer}; in flight = rate x time (Little's law)"
    bandwidth = format_rate(round(machine.bandwidth_bits_per_s))
    yield (
        f"a machine: {machine.cores:g} cores, {format_size(machine.memory_bytes)}, {bandwidth};"
        " limit: what runs out first; no reserve is included (--peak 2 doubles)"
    )
    counts = [row.plan.trials for row in planned]
    levels = [level for row in planned if (level := row.plan.cores.level)]
    if levels:
        trials = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        yield f"±: interval of the median of {trials} trials; confidence {100 * min(levels):.0f} % or more"
    else:
        yield "one trial each: no intervals; repeat with: httpdyno bench --repeat 3"
    yield from _warnings(planned)
    yield from _doubts(source, first.client)
    part = round(1 / check.share)
    share = "a tenth" if part == 10 else f"1/{part}"
    yield f"check with {share} of one machine's load: {_command(first.client.subject, check)}"


def _warnings(planned: Sequence[_Planned]) -> Iterator[str]:
    """Warn where the plan extrapolates: to other sizes of answers, a full link, or processes that are less busy."""
    client, plan, size = planned[0].client, planned[0].plan, planned[0].load.answer_bytes
    sizes = [Estimate.of([trial.received_bytes for trial in row.client.trials]).value for row in planned]
    over_size = any(covers_several_sizes(row.client.trials) for row in planned)
    if size is not None and not over_size and any(abs(size / other - 1) > _ALIKE_SIZES for other in sizes):
        yield (
            f"cores: CPU time of the measured answers ({format_size(min(sizes))}); --bytes changes the bandwidth alone."
            " For CPU time over size, plan from: httpdyno capacity CLIENT --size 0,50KiB,...,200KiB"
        )
    share = plan.shares[Resource.BANDWIDTH].value / plan.machines
    if share > _NEARLY_FULL:
        yield f"bandwidth: {100 * share:.0f} % used; above 80 % answers queue, and in_flight is a lower bound"
    shares = [trial.busy_share for trial in client.trials if trial.busy_share is not None]
    measured = Estimate.of(shares).value if shares else 0.0
    busy = plan.cores.value / (plan.processes.value * client.trials[0].cpus)
    if busy < _MUCH_LESS_BUSY * measured:
        yield (
            f"cores: the measured process of {client.client} was {100 * measured:.0f} % busy, the planned one is "
            f"{100 * busy:.1g} %: an answer then costs more CPU time, up to several times as much"
        )


def _doubts(source: PlanSource, first: PlannedClient) -> Iterator[str]:
    shares = [trial.ok_share for trial in first.trials if trial.ok_share is not None]
    if shares and min(shares) < 0.99:
        pages = Estimate.of(shares).value
        yield (
            f"answers: {100 * pages:.0f} % have content (2xx), the others are errors, as on the web; for a number of "
            f"pages plan {number_text(1 / pages)} times as many"
        )
    trusted = {"", Validity.VALID.value}
    doubtful = [client for client in source.clients if client.trials and client.verdict not in trusted]
    if doubtful:
        yield f"not VALID: {', '.join(f'{client.client} ({client.verdict})' for client in doubtful)}"
    without = [client.client for client in source.clients if not client.trials]
    if without:
        yield f"not planned, because figures are missing: {', '.join(without)}"


def _command(subject: str, check: Check) -> str:
    rps, size = float(f"{check.rate_per_s:.3g}"), check.size_bytes
    words = ["httpdyno capacity", subject, "--rps", format_exact(max(rps, 0.01)).removesuffix(".0")]
    words += ["--size", f"{round(size / 1024)}KiB" if size >= 10 * 1024 else str(size)]
    words += ["--delay", f"{check.delay_ms}ms"] if check.delay_ms else []
    words += ["--rtt", f"{check.round_trip_ms:g}ms"] if check.round_trip_ms else []
    return " ".join([*words, "--concurrency", str(check.concurrency)])


def spread_text(estimate: Estimate, unit: float = 1.0) -> str:
    """Write a value with the distance of its interval's farther end in percent: ``2.72 ±12%``."""
    text = number_text(estimate.value / unit)
    if estimate.level is None or not estimate.value:
        return text
    far = max(estimate.high - estimate.value, estimate.value - estimate.low) / estimate.value
    return f"{text} ±{ceil(100 * round(far, 6))}%"


def range_text(estimate: Estimate) -> str:
    """Write a value with its interval: ``2.7 (2.6 to 3.3)``."""
    value, low, high = (number_text(number) for number in (estimate.value, estimate.low, estimate.high))
    return value if low == high else f"{value} ({low} to {high})"


def number_text(value: float) -> str:
    """Write a number with three significant digits, or all before the point: ``0.0324``, ``2.72``, ``132,000``."""
    if value >= 1000:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:.3g}"


_Read = tuple[Column, Callable[[_Planned], Cell]]
"""A column, and the function that reads its cell."""
_SHOWN: Final[tuple[_Read, ...]] = (
    (Column("client"), lambda row: row.client.client),
    # Quantities are texts with their interval, but right-aligned, like numbers.
    (Column("cores", _DECIMAL), lambda row: spread_text(row.plan.cores)),
    (Column("machines", _INTEGER), lambda row: _machine_range(row.plan)),
    (Column("in_flight", _INTEGER), lambda row: spread_text(row.plan.in_flight)),
    (Column("memory_mib", _INTEGER), lambda row: spread_text(row.plan.memory_bytes, _MIB)),
    (Column("gbit_per_s", _DECIMAL), lambda row: spread_text(row.plan.bits_per_s, _GIGABIT)),
    (Column("sockets", _INTEGER, dispensable=True), lambda row: number_text(row.plan.sockets.value)),
    (Column("limit"), lambda row: row.plan.limit.value),
)
_TEXT: Final = ColumnKind.TEXT
_NUMBER: Final = ColumnKind.NUMBER


def _quantity(
    name: str, unit: str, text: str, of: Callable[[MachinePlan], Estimate], scale: float = 1.0
) -> Iterator[_Read]:
    """Yield the columns of a quantity and of the two ends of its interval; ``scale`` is the size of its unit."""
    yield Column(name, _NUMBER, unit, text), lambda row: of(row.plan).value / scale
    low, high = (Column(f"{name}_{end}", _NUMBER, unit, text) for end in ("low", "high"))
    yield low, lambda row: of(row.plan).low / scale if of(row.plan).level else None
    yield high, lambda row: of(row.plan).high / scale if of(row.plan).level else None


def _share(resource: Resource) -> _Read:
    column = Column(f"{resource.value.lower()}_share", _NUMBER, "", "number of machines that it alone requires")
    return column, lambda row: row.plan.shares[resource].value


_FULL: Final[tuple[_Read, ...]] = (
    (Column("subject", _TEXT, "", "the client's id"), lambda row: row.client.subject),
    (Column("client", _TEXT, "", "language and library"), lambda row: row.client.client),
    (Column("rate_per_s", _NUMBER, "1/s", "answers a second, at the peak"), lambda row: row.load.rate_per_s),
    (Column("machines", _INTEGER, "", "machines that the scarcest resource requires"), lambda row: row.plan.machines),
    (Column("machines_low", _INTEGER, "", "for the lower ends of the intervals"), lambda row: row.plan.machines_low),
    (Column("machines_high", _INTEGER, "", "for the upper ends of the intervals"), lambda row: row.plan.machines_high),
    (Column("limit", _TEXT, "", "resource that runs out first"), lambda row: row.plan.limit.value),
    *map(_share, Resource),
    *_quantity("cores", "", "cores that this load keeps busy", lambda plan: plan.cores),
    *_quantity("in_flight", "", "requests in flight", lambda plan: plan.in_flight),
    *_quantity("processes", "", "processes like the measured one", lambda plan: plan.processes),
    *_quantity("memory_mib", "MiB", "memory of these processes", lambda plan: plan.memory_bytes, _MIB),
    *_quantity("gbit_per_s", "Gbit/s", "received", lambda plan: plan.bits_per_s, _GIGABIT),
    *_quantity("sockets", "", "sockets that are open, or were closed less than 60 s ago", lambda plan: plan.sockets),
    *_quantity("connections_per_s", "1/s", "connections opened", lambda plan: plan.connections_per_s),
    *_quantity("answer_ms", "ms", "time of an answer, the distance included", lambda plan: plan.answer_ms),
    *_quantity("answer_bytes", "bytes", "bytes received for an answer", lambda plan: plan.answer_bytes),
    *_quantity("round_trips", "", "round trips of an answer", lambda plan: plan.round_trips),
    (Column("confidence", _NUMBER, "", "of the intervals, 0 to 1"), lambda row: row.plan.cores.level),
    (Column("trials", _INTEGER, "", "trials that the figures come from"), lambda row: row.plan.trials),
    (Column("verdict", _TEXT, "", "whether these trials can be trusted"), lambda row: row.client.verdict),
    (
        Column("check_share", _NUMBER, "", "share of one machine's load that the check sends"),
        lambda row: row.check.share,
    ),
    (Column("check", _TEXT, "", "command that checks the plan"), lambda row: _command(row.client.subject, row.check)),
    (
        Column("figures", _TEXT, "", "run that the figures come from"),
        lambda row: f"{row.source.run} ({row.source.origin})",
    ),
)
