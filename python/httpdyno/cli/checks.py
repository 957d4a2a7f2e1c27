"""``httpdyno doctor`` and ``httpdyno verify-generator``: is this machine, is a load generator fit to measure."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from httpdyno.cli.completion import complete_cases, complete_fact_formats, complete_generators
from httpdyno.cli.options import Format, SubjectFolders
from httpdyno.cli.terminal import check_format, messages, print_table, results, tell
from httpdyno.errors import InvalidValue, NothingMeasured
from httpdyno.lab.interruption import Interruption
from httpdyno.model import Fact, parse_duration_ns
from httpdyno.report.cell import without_controls

if TYPE_CHECKING:
    from httpdyno.experiments.verify_generator.run import Bench, Step, Verified

_LABELS: Final = {"yes": ("ok", "green"), "limited": ("limited", "yellow"), "no": ("no", "red")}


def doctor(
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="FORMAT", help="plain or json.", autocompletion=complete_fact_formats)
    ] = "plain",
) -> None:
    """Print what this machine can and cannot do, each fact with its consequence and its cure.

    The last line is the conclusion: ready, limited or cannot measure. Exit code 1 when no room can be made.
    """
    from httpdyno.lab.diagnosis import conclude, diagnose

    if format not in {"plain", "json"}:
        raise InvalidValue(f"--format: {format!r} is not known to doctor; known are: plain, json")
    facts = diagnose()
    conclusion = conclude(facts)
    console = results()
    if format == "json":
        console.out(json.dumps([asdict(fact) for fact in facts], indent=2))
    else:
        for fact in facts:
            _print(fact, console)
        console.out(without_controls(conclusion.line))
    if not conclusion.can_measure:
        raise typer.Exit(1)


def _print(fact: Fact, console: Console) -> None:
    label, colour = _LABELS[fact.ok]
    console.out(f"{label:8}", style=colour, end="")
    console.out(without_controls(f"{fact.name}: {_readable(fact.value)}"))
    for name in ("consequence", "cure"):
        if text := getattr(fact, name):
            console.out(without_controls(f"        {name}: {text}"))


def _readable(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(entry) for entry in value) or "none"
    return "not known" if value is None else str(value)


_USUAL_S: Final = 8.0
_QUICK_S: Final = 2.0


def verify_generator(
    tool: Annotated[
        list[str] | None,
        typer.Option(
            "--tool",
            metavar="TOOL",
            help="httpdyno, a load tool such as wrk, or all; may be given several times. Default: httpdyno.",
            autocompletion=complete_generators,
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            metavar="CASE",
            help="at-once, law, stall or rate; may be given several times. Default: all.",
            autocompletion=complete_cases,
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--duration",
            metavar="TIME",
            help="Of each run: 2 seconds or more, or with a unit. Default: 8, of which 1 is a stall.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: 2 s for each run.")] = False,
    cpus: Annotated[
        str | None,
        typer.Option(
            "--cpus", metavar="GENERATOR[:SERVER]", help="CPUs of the generator and of the server, such as 1:0."
        ),
    ] = None,
    format: Format = "table",  # noqa: A002
    subjects: SubjectFolders = None,
) -> None:
    """Hold load generators to the truth: run them against servers with known behaviour and compare their percentiles.

    Exit code 1 when a generator that was named reports something wrong; with --tool all only when httpdyno does.
    """
    from httpdyno.experiments.verify_generator.choice import choose
    from httpdyno.experiments.verify_generator.place import make_bench
    from httpdyno.experiments.verify_generator.run import steps
    from httpdyno.experiments.verify_generator.table import verified_table

    check_format(format)
    usual_s = _QUICK_S if quick else _USUAL_S
    duration_s = usual_s if duration is None else parse_duration_ns(duration, name="--duration") / 1e9
    with Interruption() as interruption:
        bench = make_bench(cpus, duration_s, interruption)
        chosen = choose(tool or (), case or (), bench, subjects or ())
        results = _verify(steps(chosen.generators, chosen.cases), bench)
    print_table(
        verified_table(results, unavailable=chosen.unavailable, duration_s=duration_s, overhead_ns=bench.overhead_ns),
        format,
    )
    if all(verified.judgement is None for verified in results):
        raise typer.Exit(NothingMeasured.exit_code)
    if any(verified.right is False for verified in results if verified.step.generator.name in chosen.answerable):
        raise typer.Exit(1)


def _verify(planned: "Sequence[Step]", bench: "Bench") -> "list[Verified]":
    """Run them all, with a line on stderr for each: a spinner on a terminal."""
    from httpdyno.experiments.verify_generator.run import verify
    from httpdyno.experiments.verify_generator.table import verdict_of

    console, results = messages(), []
    with console.status("", spinner="dots") as status:
        begun = 0

        def begin(step: "Step") -> None:
            nonlocal begun
            begun += 1
            status.update(f"{step} ({begun} of {len(planned)})")

        for verified in verify(planned, bench, begin):
            results.append(verified)
            if not console.is_terminal:
                tell(f"{verified.step} ({len(results)} of {len(planned)}): {verdict_of(verified)}")
    return results
