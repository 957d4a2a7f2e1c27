"""The result of a search for the highest rate: its sentence, its table and its charts."""

from collections.abc import Iterator, Sequence
from typing import Final

from httpdyno.experiments.load.judge import FindStep, LoadSummary
from httpdyno.model.report import Axis, Chart, ChartKind, Column, ColumnKind, Scale, Series, Table

_MS: Final = 1e-6


def search_sentence(load: LoadSummary) -> str | None:
    """Return the result in one line; None without a search."""
    if load.find_verdict is None:
        return None
    rate, objective = _rate(load.found_per_s), load.find_objective
    first = load.find_first_broken or "the objective"
    if load.find_verdict == "found":
        interval = f"95 % interval {_rate(load.found_low_per_s)} to {_rate(load.found_high_per_s)}"
        return f"holds {rate} requests/s ({interval}) with {objective}; above it {first} breaks first"
    if load.find_verdict == "two_states":
        interval = f"95 % interval {_rate(load.found_low_per_s)} to {_rate(load.found_high_per_s)}"
        return (
            f"holds about {rate} requests/s ({interval}) with {objective}: the server has two states; "
            f"above this it may become slow for good and then miss {first}, although higher rates held before"
        )
    if load.find_verdict == "never_held":
        lowest = min((step.rate_per_s for step in load.find_steps or ()), default=None)
        return f"does not hold {_rate(lowest)} requests/s, the lowest rate tried, with {objective}: {first} breaks it"
    if load.find_verdict == "not_broken":
        time = "the time" if load.find_duration_s is None else f"{load.find_duration_s:.3g} s"
        return (
            f"holds at least {rate} requests/s with {objective}; "
            f"no higher rate was tried in {time}: give it more time (--find-for)"
        )
    reasons = [step.limited_by for step in load.find_steps or () if step.limited_by]
    reason = reasons[-1] if reasons else "it could not send faster"
    if load.found_per_s is None:
        return f"no rate was measured with {objective}: {reason}"
    return f"holds at least {rate} requests/s with {objective}; the generator was the limit: {reason}"


def search_tables(loads: Sequence[LoadSummary]) -> Iterator[Table]:
    """Return a row for each step of a search, titled with its result."""
    rate, time = ColumnKind.NUMBER, ColumnKind.TIME
    columns = (
        Column("rate", rate, "1/s", "planned rate"),
        Column("achieved", rate, "1/s", "good answers a second"),
        Column("s", ColumnKind.DECIMAL, "s", "time whose requests were counted"),
        *(Column(name, time, "ms") for name in ("p50", "p99")),
        Column("errors", ColumnKind.INTEGER, description="requests that failed"),
        Column("send lag p99", time, "ms", "the generator's own lag"),
        Column("server CPU", ColumnKind.DECIMAL, description="CPUs that the server used"),
    )
    for load in loads:
        rows = tuple(
            (
                *(float(round(step.rate_per_s)), float(round(step.achieved_per_s)), round(step.duration_s, 2)),
                *(_ms(step.p50_ns), _ms(step.p99_ns), step.errors, _ms(step.send_lag_p99_ns)),
                None if step.server_cpu is None else round(step.server_cpu, 2),
            )
            for step in load.find_steps or ()
        )
        if sentence := search_sentence(load):
            yield Table(columns, rows, title=sentence)


def search_charts(loads: Sequence[LoadSummary]) -> Iterator[Chart]:
    """Draw the figures of the steps of a search by their rates."""
    for load in loads:
        steps = sorted(load.find_steps or (), key=lambda step: step.rate_per_s)
        if not steps:
            continue
        rate, section = Axis("rate of a step", "1/s"), "Search"
        times = {"p50": "p50_ns", "p99": "p99_ns", "send lag p99": "send_lag_p99_ns"}
        yield Chart(
            *("search-times", "Response time by rate"),
            kind=ChartKind.LINES,
            x=rate,
            y=Axis("time", "ms", Scale.LOGARITHMIC),
            series=tuple(
                _line(name, steps, [_ms(getattr(step, field)) for step in steps]) for name, field in times.items()
            ),
            caption=f"Each point is a step of the search, which {search_sentence(load)}.",
            section=section,
        )
        errors = [100 * step.errors / max(1, step.requests) for step in steps]
        if any(errors):
            yield Chart(
                *("search-errors", "Failed requests by rate"),
                kind=ChartKind.LINES,
                x=rate,
                y=Axis("share of requests", "%"),
                series=(_line("errors", steps, errors),),
                caption="Requests without an answer, or with one that is not good.",
                section=section,
            )
        if any(step.server_cpu is not None for step in steps):
            yield Chart(
                *("search-cpu", "CPU use of the server by rate"),
                kind=ChartKind.LINES,
                x=rate,
                y=Axis("CPUs"),
                series=(_line("server CPU", steps, [step.server_cpu for step in steps]),),
                caption="CPU time of the processes that listen on the address, for each second of a step.",
                section=section,
            )


def _line(name: str, steps: Sequence[FindStep], values: Sequence[float | None]) -> Series:
    return Series(name, tuple(round(step.rate_per_s, 1) for step in steps), tuple(values))


def _ms(time_ns: int | None) -> float | None:
    return None if time_ns is None else float(f"{time_ns * _MS:.5g}")


def _rate(rate: float | None) -> str:
    return "0" if rate is None else f"{rate:,.0f}" if rate >= 100 else f"{round(rate, 2):g}"
