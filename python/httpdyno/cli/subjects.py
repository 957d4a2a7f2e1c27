"""``httpdyno subjects``: list, install and build subjects; test their claims and their contract."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from click.exceptions import Exit

from httpdyno.cli.completion import offering_kinds
from httpdyno.cli.options import Cpus, Format, OutputFolder, SubjectFolders
from httpdyno.cli.terminal import messages, print_marked, print_tables, tell
from httpdyno.cli.verb import VerbGroup, verb
from httpdyno.errors import NothingMeasured
from httpdyno.experiments.option_fields import Option
from httpdyno.lab.interruption import Interruption

if TYPE_CHECKING:
    from httpdyno.model import CaseResult, Subject
    from httpdyno.subjects.build import BuildOutcome


_Names = Annotated[
    list[str] | None,
    Option("SUBJECT", "By name, or by the path of its folder; default: all of them.", offers=offering_kinds()),
]
_COLOURS: Final = {"ok": "green", "known": "yellow", "unseen": "yellow", "FAILED": "red"}


@verb(
    "list",
    examples=(
        ("httpdyno subjects list", "what there is, and what is missing"),
        ("httpdyno subjects list --subjects my-clients/", "with your own"),
    ),
)
def list_subjects(format: Format = "table", subjects: SubjectFolders = None) -> None:  # noqa: A002
    """List every subject with its state, and the missing requirements of unavailable ones."""
    from httpdyno.subjects.cache import cache_folder
    from httpdyno.subjects.catalogue import read_catalogue, subjects_table

    print_tables([subjects_table(read_catalogue(subjects or ()), cache_folder())], format)


@verb(
    "install",
    examples=(
        ("httpdyno subjects install ruby-curb deno-fetch", "with toolchains"),
        ("httpdyno subjects install", "all of them"),
    ),
)
def install(names: _Names = None, subjects: SubjectFolders = None) -> None:
    """Install what subjects need, then build them; after an interruption, a repeated command continues.

    Toolchains come from PyPI into the cache; root installs packages of the system with apt, other users get the line to
    type. Libraries come with each subject's build, from its lock file.
    """
    _build(names, subjects, installs=True)


@verb("build", examples=(("httpdyno subjects build rust-reqwest", "as a run does at its start"),))
def build(names: _Names = None, subjects: SubjectFolders = None) -> None:
    """Build subjects that are not built yet; a subject that cannot be built does not stop the others."""
    _build(names, subjects)


def _build(names: Sequence[str] | None, subjects: Sequence[Path] | None, *, installs: bool = False) -> None:
    from httpdyno.cli.place import install_needs, read_named_subjects
    from httpdyno.subjects.cache import cache_folder

    catalogue, ids = read_named_subjects(names or (), subjects)
    chosen = catalogue.select(ids or sorted(catalogue.subjects))
    with Interruption() as interruption:
        if installs:
            install_needs(chosen, interruption)
        outcomes = show_builds(chosen, cache_folder(), interruption)
    require_builds(outcomes, every=bool(names))


def show_builds(chosen: "Iterable[Subject]", cache: Path, interruption: Interruption) -> "Mapping[str, BuildOutcome]":
    """Build subjects, and show the progress."""
    from httpdyno.cli.display import Display
    from httpdyno.subjects.build import build_subjects

    with Display(messages()) as display:
        outcomes = build_subjects(chosen, cache, tell=display.build, stop=lambda: interruption.requested)
        display.built(outcomes)
    return outcomes


def require_builds(outcomes: "Mapping[str, BuildOutcome]", *, every: bool) -> None:
    """End the command with an exit code if a build failed; without ``every``, only if all failed."""
    built = [outcome.build is not None for outcome in outcomes.values()]
    if not (all(built) if every else any(built)):
        raise Exit(NothingMeasured.exit_code)


@verb(
    "probe",
    examples=(
        ("httpdyno subjects probe python-httpx nginx", "test their claims"),
        ("httpdyno subjects probe ./my-server", "one of your own"),
    ),
)
def probe(
    names: Annotated[
        list[str] | None,
        Option(
            "SUBJECT|FOLDER",
            "By name, or folders of your own by their path; default: every client and every server.",
            offers=offering_kinds(("client", "server")),
        ),
    ] = None,
    cpus: Cpus = None,
    subjects: SubjectFolders = None,
    out: OutputFolder = Path("runs"),
) -> None:
    """Test the claims of clients and servers; exit code 1 when one does not hold.

    A client gets a web in a room, a server a few requests on this machine's loopback. A folder outside httpdyno is
    given by its path: `httpdyno subjects probe ./my-server`. The results are kept as a run: `httpdyno report latest`.
    """
    _try_cases(names or (), cpus, subjects, out, contract=False)


@verb(
    "check",
    examples=(
        ("httpdyno subjects check ./my-client", "list the required changes"),
        ("httpdyno subjects check go-net-http", "one that comes with httpdyno"),
    ),
)
def check(
    names: Annotated[
        list[str], Option("CLIENT|FOLDER", "Clients by name, or folders of your own by their path.", offers="client")
    ],
    cpus: Cpus = None,
    subjects: SubjectFolders = None,
    out: OutputFolder = Path("runs"),
) -> None:
    """Check clients against the contract and print the required changes; exit code 1 when one breaks it.

    A folder outside httpdyno is given by its path: `httpdyno subjects check ./my-client`. It is built, crawls half a
    dozen lists in a room, one of them with every fault once, and its claims are tested. A correct client takes half a
    minute, a wrong one up to three. The results are kept as a run: `httpdyno report latest`.
    """
    _try_cases(names, cpus, subjects, out, contract=True)


def _try_cases(
    names: Sequence[str], cpus: str | None, subjects: Sequence[Path] | None, out: Path, *, contract: bool
) -> None:
    """Test the claims of subjects, with ``contract`` every clause too; print each result, and keep them as a run."""
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.experiments.experiment import Beginning
    from httpdyno.experiments.registry import definition_of
    from httpdyno.lab.conformance import CaseRunner, check, prove
    from httpdyno.model import Cases
    from httpdyno.runs.pending import begin_run

    catalogue, ids = read_named_subjects(names, subjects)
    place = make_place(cpus, out)
    definition = definition_of("conformance")
    begin, rules = definition.planning.begin, definition.judging.rules
    assert begin is not None, "its runs begin here"
    results: list[CaseResult] = []
    with Interruption() as interruption:
        experiment, chosen, _ = begin(Beginning(catalogue, place, interruption, tell), ids, contract)
        with begin_run(experiment, chosen, None, place) as run:
            outcomes = show_builds(chosen, place.cache, interruption)
            require_builds(outcomes, every=False)
            run.settle(outcomes)
            for build in filter(None, (outcome.build for outcome in outcomes.values())):
                unseen: list[str] = []
                for trial in (check if contract else prove)(
                    CaseRunner(place.engine, build, place.pinning, interruption, rules=rules)
                ):
                    run.keep_unsampled(trial)
                    for result in trial[Cases].cases:
                        if result.mark == "unseen":
                            unseen.append(result.title)
                        else:
                            results.append(result)
                            _print_result(build.subject.id, result)
                if unseen:
                    text = f"{build.subject.id}: {', '.join([*unseen, 'its claims'])}"
                    print_marked("unseen", text, _COLOURS["unseen"])
            run.close(whole=True)
            tell(f"run: {run.folder}")
    require_builds(outcomes, every=bool(names))
    if not all(result.is_right for result in results):
        raise Exit(1)


def _print_result(subject: str, result: "CaseResult") -> None:
    for finding in result.findings:
        seen = f": {finding.seen}" if finding.seen else ""
        print_marked(result.mark, f"{subject}: {result.title}{seen}", _COLOURS.get(result.mark))
        if finding.change:
            print_marked("", f"to change: {finding.change}")


app = VerbGroup(
    "subjects",
    None,
    (),
    "List, install, build, probe and check the subjects.",
    examples=(("httpdyno subjects list", "what there is, and what is missing"),),
    commands=(list_subjects, install, build, probe, check),
)
