"""Plan of several machines: their rate by their number, and what limits it."""

from collections.abc import Iterator, Sequence
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.judge.machine_plan import Estimate, Load, Machine, plan_machines
from httpdyno.judge.scale_plan import ScalePlan, Shared, SharedLimit, plan_scale
from httpdyno.model import Cell, Column, ColumnKind, Note, Table, format_rate, format_size
from httpdyno.runs.plan_report import PlannedClient, PlanSource, number_text, range_text, spread_text

_NUMBER: Final = ColumnKind.NUMBER
_SHOWN: Final = (
    Column("machines", ColumnKind.INTEGER),
    # Texts with their interval or unit, but right-aligned, like numbers.
    Column("answers_per_s", ColumnKind.INTEGER),
    Column("of_linear", ColumnKind.DECIMAL),
    Column("of_load", ColumnKind.DECIMAL),
    Column("limit"),
)
_FULL: Final = (
    Column("machines", ColumnKind.INTEGER, "", "number of equal machines"),
    Column("rate_per_s", _NUMBER, "1/s", "right answers a second of all machines"),
    Column("rate_per_s_low", _NUMBER, "1/s", "for the lower end of the interval"),
    Column("rate_per_s_high", _NUMBER, "1/s", "for the upper end of the interval"),
    Column("of_linear", _NUMBER, "", "the rate, as a share of the machines times the rate of one"),
    Column("of_load", _NUMBER, "", "the rate, as a share of the load"),
    Column("limit", ColumnKind.TEXT, "", "what runs out first"),
)


def client_of(source: PlanSource, name: str | None, load: Load, machine: Machine) -> PlannedClient:
    """Return the client of that name, or the one that needs the fewest cores for the load.

    Raises
    ------
    UsageError
        If no client with figures has the name.
    """
    clients = [client for client in source.clients if client.trials]
    if name is None:
        return min(clients, key=lambda client: plan_machines(client.trials, load, machine).cores.value)
    for client in clients:
        if name in {client.subject, client.client}:
            return client
    names = ", ".join(client.subject for client in clients)
    raise UsageError(f"--client: {name!r} has no figures in {source.run}; it has those of {names}")


def scale_table(
    source: PlanSource,
    client: PlannedClient,
    rate: str,
    load: Load,
    machine: Machine,
    shared: Shared,
    most: int,
    *,
    for_programs: bool,
) -> Table:
    """Return the rate of 1 to ``most`` machines: each power of two, and the number from which something shared limits.

    ``rate`` is the load as it was typed; ``for_programs`` gives the interval columns of its own.
    """
    plan = plan_scale(client.trials, load, machine, shared)
    rows = tuple(_row(plan, load, machines, for_programs=for_programs) for machines in _numbers(plan, most))
    if for_programs:
        return Table(_FULL, rows)
    notes = tuple(map(Note, _notes(source, client, plan, machine, shared)))
    return Table(_SHOWN, rows, _answer(client, rate, plan, load, machine), notes)


def _numbers(plan: ScalePlan, most: int) -> Sequence[int]:
    powers = {2**exponent for exponent in range(most.bit_length()) if 2**exponent <= most}
    first = min(plan.reached.values(), default=1)
    return sorted(powers | {most} | ({first} if first <= most else set()))


def _row(plan: ScalePlan, load: Load, machines: int, *, for_programs: bool) -> tuple[Cell, ...]:
    rate, limit = plan.rate(machines), plan.limit(machines).value
    linear, of_load = rate.value / (machines * plan.of_one.value), rate.value / load.rate_per_s
    if for_programs:
        ends = (rate.low, rate.high) if rate.level is not None else (None, None)
        return (machines, rate.value, *ends, linear, of_load, limit)
    return (machines, spread_text(rate), f"{linear:.0%}", f"{of_load:.0%}", limit)


def _answer(client: PlannedClient, rate: str, plan: ScalePlan, load: Load, machine: Machine) -> str:
    text = (
        f"{rate} is {number_text(load.rate_per_s)} answers a second. {client.client} fetches "
        f"{range_text(plan.of_one)} a second on a machine of {machine.cores:g} cores, limited by "
        f"{plan.limit_of_one.value}: "
    )
    machines = plan.machines(load.rate_per_s)
    if machines is not None:
        text += f"{machines} machine{'' if machines == 1 else 's'}."
    elif plan.ceiling is not None:
        text += "no number of machines is enough."
    for limit, reached in list(plan.reached.items())[:1]:
        verb = "are" if limit is SharedLimit.NAMES else "is"
        text += (
            f" From {reached} on, the {limit.value} {verb} the limit, at {range_text(plan.ceilings[limit])} a second."
        )
    return text


def _notes(
    source: PlanSource, client: PlannedClient, plan: ScalePlan, machine: Machine, shared: Shared
) -> Iterator[str]:
    yield f"figures: {source.run} ({source.origin})"
    memory, bandwidth = format_size(machine.memory_bytes), format_rate(round(machine.bandwidth_bits_per_s))
    yield f"a machine: {machine.cores:g} cores, {memory}, {bandwidth}; no reserve is included"
    if SharedLimit.NAMES in plan.ceilings:
        queries = Estimate.of([trial.queries or 0.0 for trial in client.trials])
        yield f"name servers: {number_text(queries.value)} queries an answer, as the run measured them"
    if len(plan.ceilings) > 1:
        order = (
            f"{limit.value} at {number_text(ceiling.value)}/s ({plan.reached[limit]} machines)"
            for limit, ceiling in plan.ceilings.items()
        )
        yield f"limits in their order: {', '.join(order)}"
    missing = {
        "--shared-bandwidth": shared.bandwidth_bits_per_s,
        "--name-servers": shared.queries_per_s,
        "--largest-domain": shared.largest_domain,
    }
    if left := [option for option, value in missing.items() if value is None]:
        yield f"taken as unlimited: {', '.join(left)}"
    yield "the rate is an upper bound: near a limit answers queue"
