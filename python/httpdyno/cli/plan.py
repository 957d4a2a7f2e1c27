"""``httpdyno plan``: the machines that a load needs, for each client of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from httpdyno.cli.completion import offer_runs
from httpdyno.cli.options import RUN_HELP, Format, RunsFolder, open_named_run
from httpdyno.cli.terminal import print_tables
from httpdyno.cli.verb import verb
from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.option_fields import Option

if TYPE_CHECKING:
    from httpdyno.judge.scale_plan import Shared


@verb(
    "plan",
    examples=(
        ("httpdyno plan 1e9/week", "how many machines, with which client?"),
        ("httpdyno plan 2000/s --from latest --bytes 200KB --rtt 80ms", "your own page size and distance"),
        ("httpdyno plan 100M/week --peak 2 --cores 4 --bandwidth 1gbit", "small machines, and a busy hour"),
        ("httpdyno plan 1e9/week --machines 16 --shared-bandwidth 10gbit", "what limits many machines, and when"),
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
    cores: Annotated[
        float, Option("--cores N", "Cores of a machine; also a part, such as 0.5.", least=0.01, most=100_000)
    ] = 8,
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
    machines: Annotated[
        int | None,
        Option(
            "--machines N",
            "Print the rate of 1 to N machines with one client, and what limits it, instead of all clients.",
            least=1,
            most=1_000_000,
        ),
    ] = None,
    client: Annotated[
        str | None, Option("--client CLIENT", "That client. Default: the one that needs the fewest cores.")
    ] = None,
    shared_bandwidth: Annotated[
        str | None, Option("--shared-bandwidth RATE", "Bandwidth towards all machines together, such as 40gbit.")
    ] = None,
    name_servers: Annotated[
        str | None, Option("--name-servers RATE", "Queries that the name servers answer, such as 5000/s.")
    ] = None,
    largest_domain: Annotated[
        str | None,
        Option("--largest-domain SHARE", "Share of the URLs in the largest domain (example.co.uk), such as 0.1%."),
    ] = None,
    per_domain_interval: Annotated[
        str | None, Option("--per-domain-interval TIME", "Time between two requests of a domain, as of fetch.")
    ] = None,
    runs: RunsFolder = Path("runs"),
    format: Format = "table",  # noqa: A002
) -> None:
    """Print the machines that a load needs: cores, requests in flight, memory, bandwidth, sockets of each client."""
    from httpdyno.judge.machine_plan import Load, Machine, parse_load_rate
    from httpdyno.model import parse_rate_bits_per_s
    from httpdyno.runs.plan_report import default_source, plan_table, source_of_run
    from httpdyno.runs.scale_report import client_of, scale_table
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
    shared = {
        "--client": client,
        "--shared-bandwidth": shared_bandwidth,
        "--name-servers": name_servers,
        "--largest-domain": largest_domain,
        "--per-domain-interval": per_domain_interval,
    }
    if machines is None:
        if given := [option for option, value in shared.items() if value is not None]:
            raise UsageError(f"{given[0]}: requires --machines; add it, such as --machines 16")
        table = plan_table(figures, rate, load, machine, for_programs=read_by_programs(format), peak=peak)
    else:
        limits = _shared(shared_bandwidth, name_servers, largest_domain, per_domain_interval)
        chosen = client_of(figures, client, load, machine)
        table = scale_table(
            figures, chosen, rate, load, machine, limits, machines, for_programs=read_by_programs(format)
        )
    print_tables([table], format)


def _shared(bandwidth: str | None, queries: str | None, domain: str | None, interval: str | None) -> "Shared":
    from httpdyno.judge.machine_plan import parse_load_rate
    from httpdyno.judge.scale_plan import Shared, parse_share
    from httpdyno.model import parse_duration_ns, parse_rate_bits_per_s

    if (domain is None) != (interval is None):
        raise UsageError("--largest-domain and --per-domain-interval: one limits nothing without the other; give both")
    return Shared(
        None if bandwidth is None else parse_rate_bits_per_s(bandwidth, name="--shared-bandwidth"),
        None if queries is None else parse_load_rate(queries, name="--name-servers"),
        None if domain is None else parse_share(domain),
        None if interval is None else parse_duration_ns(interval, bare_unit="none", name="--per-domain-interval") / 1e9,
    )


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
