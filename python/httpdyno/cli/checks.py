"""``httpdyno doctor`` and ``httpdyno verify-generator``: test this machine and load generators."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

from click.exceptions import Exit

from httpdyno.cli.completion import offer_cases, offer_generators
from httpdyno.cli.options import Format, SubjectFolders
from httpdyno.cli.terminal import messages, print_marked, print_tables, results, tell
from httpdyno.cli.verb import verb
from httpdyno.errors import InvalidValue, NothingMeasured
from httpdyno.experiments.option_fields import Option
from httpdyno.lab.interruption import Interruption

if TYPE_CHECKING:
    from httpdyno.experiments.verify_generator.run import Verified
    from httpdyno.model import Fact

_LABELS: Final = {"yes": ("ok", "green"), "limited": ("limited", "yellow"), "no": ("no", "red")}


@verb(
    "doctor",
    examples=(
        ("httpdyno doctor", "limits of this machine, and their cures"),
        ("httpdyno doctor --format json", "the same for programs"),
    ),
)
def doctor(
    format: Annotated[  # noqa: A002
        str, Option("--format FORMAT", "plain or json.", offers=("plain", "json"))
    ] = "plain",
) -> None:
    """Print the abilities and limits of this machine, each with its consequence and its cure.

    The last line is the conclusion: ready, limited or cannot measure. Exit code 1 when no room can be made.
    """
    from httpdyno.lab.diagnosis import conclude, diagnose
    from httpdyno.report.cell import without_controls

    if format not in {"plain", "json"}:
        raise InvalidValue(f"--format: {format!r} is unknown to doctor; choose from: plain, json")
    facts = diagnose()
    conclusion = conclude(facts)
    if format == "json":
        results().out(json.dumps([asdict(fact) for fact in facts], indent=2))
    else:
        for fact in facts:
            _print_fact(fact)
        results().out(without_controls(conclusion.line))
    if not conclusion.can_measure:
        raise Exit(1)


def _print_fact(fact: "Fact") -> None:
    value = fact.value
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, list):
        value = ", ".join(map(str, value)) or "none"
    label, colour = _LABELS[fact.ok]
    print_marked(label, f"{fact.name}: {'not known' if value is None else value}", colour)
    for name in ("consequence", "cure"):
        if text := getattr(fact, name):
            print_marked("", f"{name}: {text}")


@verb(
    "verify-generator",
    examples=(
        ("httpdyno verify-generator", "httpdyno's own generator"),
        ("httpdyno verify-generator --tool wrk --quick", "a tool, in two seconds a case"),
        ("httpdyno verify-generator --tool all --case stall", "find those that notice a stalled server"),
    ),
)
def verify_generator(
    tool: Annotated[
        list[str] | None,
        Option(
            "--tool TOOL",
            "httpdyno, a load tool such as wrk, or all; may be given several times. Default: httpdyno.",
            offers=offer_generators,
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        Option(
            "--case CASE", "at-once, law, stall or rate; may be given several times. Default: all.", offers=offer_cases
        ),
    ] = None,
    duration: Annotated[
        str | None,
        Option("--duration TIME", "Of each run: 2 seconds or more, or with a unit. Default: 8, of which 1 is a stall."),
    ] = None,
    quick: Annotated[bool, Option("--quick", "A first look: 2 s for each run.")] = False,
    cpus: Annotated[
        str | None, Option("--cpus GENERATOR[:SERVER]", "CPUs of the generator and of the server, such as 1:0.")
    ] = None,
    format: Format = "table",  # noqa: A002
    subjects: SubjectFolders = None,
) -> None:
    """Test load generators: run them against servers with known behaviour and compare their percentiles.

    Exit code 1 when a named generator reports wrong figures; with --tool all only when httpdyno does.
    """
    from httpdyno.experiments.verify_generator.run import choose, make_bench, steps, verified_table, verify
    from httpdyno.model import parse_duration_ns

    usual_s = 2.0 if quick else 8.0
    duration_s = usual_s if duration is None else parse_duration_ns(duration, name="--duration") / 1e9
    console = messages()
    results: list[Verified] = []
    with Interruption() as interruption, console.status("", spinner="dots") as status:
        bench = make_bench(cpus, duration_s, interruption)
        chosen = choose(tool or (), case or (), bench, subjects or ())
        planned = steps(chosen.generators, chosen.cases)
        of = len(planned)
        for verified in verify(planned, bench, lambda step: status.update(f"{step} ({len(results) + 1} of {of})")):
            results.append(verified)
            if not console.is_terminal:
                tell(f"{verified.step} ({len(results)} of {of}): {verified.verdict}")
    print_tables(
        [verified_table(results, unavailable=chosen.unavailable, duration_s=duration_s, overhead_ns=bench.overhead_ns)],
        format,
    )
    if all(verified.judgement is None for verified in results):
        raise Exit(NothingMeasured.exit_code)
    if any(verified.right is False for verified in results if verified.step.generator.name in chosen.answerable):
        raise Exit(1)
