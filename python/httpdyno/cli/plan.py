"""``httpdyno plan``: the machines that a load needs, for each client of a run."""

from pathlib import Path
from typing import Annotated

from httpdyno.cli.completion import offer_runs
from httpdyno.cli.options import RUN_HELP, Format, RunsFolder, open_named_run
from httpdyno.cli.terminal import print_tables
from httpdyno.cli.verb import verb
from httpdyno.errors import InvalidValue
from httpdyno.experiments.option_fields import Option


@verb(
    "plan",
    examples=(
        ("httpdyno plan 1e9/week", "how many machines, with which client?"),
        ("httpdyno plan 2000/s --from latest --bytes 200KB --rtt 80ms", "your own page size and distance"),
        ("httpdyno plan 100M/week --peak 2 --cores 4 --bandwidth 1gbit", "small machines, and a busy hour"),
    ),
)
def plan(
    rate: Annotated[str, Option("RATE", "Answers in a time: 1e9/week, 100M/day, 3000/min or 2000/s.")],
    source: Annotated[
        str | None,
        Option(
            "--from RUN",
            f"The run whose clients to plan for: {RUN_HELP}. Default: the latest bench run, else a run that ships"
            " with httpdyno.",
            offers=offer_runs,
        ),
    ] = None,
    size: Annotated[
        str | None, Option("--bytes SIZE", "Mean answer on the wire, such as 256KB. Default: as the run measured it.")
    ] = None,
    rtt: Annotated[
        str | None,
        Option(
            "--rtt TIME", "Distance to add: round trips of this time, more of them for a new connection. Default: none."
        ),
    ] = None,
    peak: Annotated[
        float, Option("--peak FACTOR", "Plan for a multiple of the mean rate.", least=1.0, most=1000.0)
    ] = 1,
    cores: Annotated[int, Option("--cores N", "Cores of a machine.", least=1, most=100_000)] = 8,
    memory: Annotated[str | None, Option("--memory SIZE", "Memory of a machine. Default: 4 GiB a core.")] = None,
    bandwidth: Annotated[str, Option("--bandwidth RATE", "Bandwidth towards a machine, such as 1gbit.")] = "10gbit",
    addresses: Annotated[
        int | None,
        Option(
            "--addresses N",
            "Server addresses that answer; each takes 64,511 ports of a machine. Default: ports do not run out.",
            least=1,
        ),
    ] = None,
    runs: RunsFolder = Path("runs"),
    format: Format = "table",  # noqa: A002
) -> None:
    """Print the machines that a load needs: cores, requests in flight, memory, bandwidth, sockets of each client."""
    from httpdyno.judge.machine_plan import Load, Machine, parse_load_rate
    from httpdyno.model import parse_rate_bits_per_s
    from httpdyno.runs.plan_report import default_source, plan_table, source_of_run
    from httpdyno.runs.showing import read_by_programs

    load = Load(
        parse_load_rate(rate) * peak,
        answer_bytes=None if size is None else _size(size, "--bytes", "256KB"),
        round_trip_ms=0.0 if rtt is None else _time_ms(rtt),
    )
    machine = Machine(
        cores,
        memory_bytes=cores * 4 * 2**30 if memory is None else _size(memory, "--memory", "32GiB"),
        bandwidth_bits_per_s=parse_rate_bits_per_s(bandwidth, name="--bandwidth"),
        addresses=addresses,
    )
    figures = default_source(runs, "bench") if source is None else source_of_run(open_named_run(source, runs))
    table = plan_table(figures, rate, load, machine, for_programs=read_by_programs(format), peak=peak)
    print_tables([table], format)


def _size(text: str, option: str, example: str) -> int:
    from httpdyno.model import parse_size_bytes

    size = parse_size_bytes(text, name=option)
    if size < 1:
        raise InvalidValue(f"{option}: {text[:60]!r} must be above 0; write it like {example}")
    return size


def _time_ms(text: str) -> float:
    from httpdyno.model import parse_duration_ns

    # Without a unit, `80` could mean seconds or milliseconds.
    time_ns = 0 if text == "0" else parse_duration_ns(text, bare_unit="none", name="--rtt")
    if time_ns > 60 * 10**9:
        raise InvalidValue(f"--rtt: {text[:60]!r} is longer than a minute; write it like 80ms")
    return time_ns / 1e6
