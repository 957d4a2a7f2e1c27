"""``httpdyno conform``: the conformance of clients, a scripted case a clause."""

import json
import os
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click
from click.exceptions import Exit

from httpdyno.cli.completion import offer_conform, offer_runs
from httpdyno.cli.options import Cpus, Format, OutputFolder, SubjectFolders
from httpdyno.cli.subjects import require_builds, show_builds
from httpdyno.cli.terminal import messages, print_marked, print_tables, results, tell
from httpdyno.cli.verb import verb
from httpdyno.errors import InvalidValue, StorageFailed, UsageError
from httpdyno.experiments.option_fields import Option
from httpdyno.lab.interruption import Interruption

if TYPE_CHECKING:
    from httpdyno.judge.scripted.case_file import CaseFile, ChosenCases
    from httpdyno.lab.conformance import CaseRunner
    from httpdyno.model import CaseResult, Subject, Table
    from httpdyno.model.matrix import Matrix
    from httpdyno.runs.pending import PendingRun
    from httpdyno.store import Run
    from httpdyno.subjects.build import Build, BuildOutcome

_ALLOWED_WITH_RESUME: Final = frozenset({"resume", "detach", "format", "out", "expect", "update", "matrix"})
"""Parameters that do not change what is tried."""
_COLOURS: Final = {"unsafe": "red", "crash": "red", "hang": "red", "fail": "red", "unsteady": "yellow"}


@verb(
    "conform",
    examples=(
        ("httpdyno conform go-net-http", "every case with one client"),
        ("httpdyno conform curl-process --group framing", "one group"),
        ("httpdyno conform curl-process tls/self-signed --show", "one case, with its transcript"),
        ("httpdyno conform ./my-client --expect conform.json", "in continuous integration"),
        ("httpdyno conform --group tls --matrix tls.html", "every client, as a page"),
    ),
)
def conform(
    names: Annotated[
        list[str] | None,
        Option(
            "CLIENT|CASE",
            "Clients by name or by the path of their folder, and cases as GROUP/NAME; default: every client, every"
            " case.",
            offers=offer_conform,
        ),
    ] = None,
    group: Annotated[list[str] | None, Option("--group GROUP", "Only cases of this group; repeatable.")] = None,
    level: Annotated[
        list[str] | None,
        Option(
            "--level LEVEL",
            "Only cases of this level: must, should, may or practice; repeatable.",
            offers=("must", "should", "may", "practice"),
        ),
    ] = None,
    list_cases: Annotated[bool, Option("--list", "List the cases with clause and level, and exit.")] = False,
    show: Annotated[
        bool, Option("--show", "Try each case once, and print its transcript, rows and the deciding condition.")
    ] = False,
    serve: Annotated[
        str | None, Option("--serve CASE", "Serve one case on the loopback until Ctrl-C, to try it by hand.")
    ] = None,
    expect: Annotated[
        Path | None, Option("--expect FILE", "Exit with 1 if an outcome is worse than in this file (JSON).")
    ] = None,
    update: Annotated[bool, Option("--update", "Renew the file of --expect.")] = False,
    matrix: Annotated[
        Path | None,
        Option("--matrix FILE", "Write the matrix of clients and cases there: a page (.html), or its data (.json)."),
    ] = None,
    tries: Annotated[int, Option("--tries N", "Tries of each case, each in a fresh process.", least=1)] = 3,
    format: Format = "table",  # noqa: A002
    cpus: Cpus = None,
    subjects: SubjectFolders = None,
    out: OutputFolder = Path("runs"),
    resume: Annotated[
        str | None,
        Option(
            "--resume RUN",
            "Resume a stopped run with its clients and cases: its folder, its name below --out, latest or previous.",
            offers=offer_runs,
        ),
    ] = None,
    detach: Annotated[
        bool, Option("--detach", "Run in the background, even after this terminal closes; print the folder.")
    ] = False,
) -> None:
    """Try how clients behave against servers that follow, stretch or break the standards, a case a clause.

    Each case is a server that is scripted byte by byte, in a room. Its outcome is pass, lenient, fail, unsafe, hang,
    crash, unsteady or unsupported. The results are kept as a run: `httpdyno report latest`. Exit code 0 whatever the
    outcomes, except with --expect.
    """
    from httpdyno.judge.scripted.case_file import ChosenCases

    keeps, looks = bool(expect or matrix), bool(list_cases or show or serve)
    _check_together(looks=looks, keeps=keeps, runs=bool(resume or detach), detach=detach)
    if matrix is not None:
        check_matrix_file(matrix)
    if update and expect is None:
        raise UsageError("--update: it renews the file of --expect, which is missing; add --expect FILE")
    clients, cases = split_names(names or ())
    chosen = ChosenCases.choose([serve] if serve else cases, group or (), level or (), tries)
    if not chosen.files:
        raise UsageError("--group, --level: no case is in all of them; see the cases with: httpdyno conform --list")
    if list_cases:
        print_tables([_case_list(chosen.files)], format)
        return
    if serve:
        _serve(chosen.files[0])
        return
    options = _Options(cpus, subjects, out, format, detach)
    if show:
        _show(clients, chosen.files, options)
        return
    expected = _read_expected(expect, update=update)
    interruption = Interruption()
    run_of = _resume(resume, out, interruption) if resume else _begin(clients, chosen, options, interruption)
    if ended := _run(run_of, clients, options, interruption):
        kept, builds = ended
        if matrix is not None:
            write_matrix(matrix, kept)
        require_builds(builds, every=bool(clients))
        if expect is not None:
            _compare(expected, expect, _results_by_client(kept), update=update)


def _check_together(*, looks: bool, keeps: bool, runs: bool, detach: bool) -> None:
    """Raise ``UsageError`` for options that need a run together with options that make none."""
    without = "leave out --list, --show and --serve"
    if looks and keeps:
        raise UsageError(f"--expect, --matrix: they keep the outcomes of a run; {without}")
    if looks and runs:
        raise UsageError(f"--resume, --detach: they make a run; {without}")
    if detach and keeps:
        raise UsageError(
            "--detach: the outcomes for --expect and --matrix come later; leave them out, and write the matrix then:"
            " httpdyno report RUN --matrix FILE"
        )


def split_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the clients and the cases among some names: a case begins with its group, and is no folder here."""
    from httpdyno.judge.scripted.case_file import GROUPS

    cases = [name for name in names if name.partition("/")[0] in GROUPS and not Path(name).is_dir()]
    return [name for name in names if name not in cases], cases


def _case_list(files: "Sequence[CaseFile]") -> "Table":
    from httpdyno.model import Column, Table

    columns = (Column("case"), Column("level"), Column("clause"), Column("title"))
    return Table(columns, tuple((file.id, str(file.level), file.clause, file.title) for file in files))


@dataclass(frozen=True, slots=True)
class _Options:
    """Options of a run."""

    cpus: str | None
    subjects: Sequence[Path] | None
    out: Path
    format_name: str
    detach: bool


@contextmanager
def _begin(
    clients: Sequence[str], chosen: "ChosenCases", options: _Options, interruption: Interruption
) -> "Iterator[PendingRun]":
    """Begin a run of these cases with the named clients."""
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.experiments.experiment import Beginning
    from httpdyno.experiments.registry import definition_of
    from httpdyno.runs.pending import begin_run

    catalogue, ids = read_named_subjects(clients, options.subjects)
    place = make_place(options.cpus, options.out)
    begin = definition_of("conformance").planning.begin
    assert begin is not None, "its runs begin here"
    experiment, subjects, _ = begin(Beginning(catalogue, place, interruption, tell), ids, chosen)
    with begin_run(experiment, subjects, None, place) as run:
        yield run


def _resume(name: str, runs: Path, interruption: Interruption) -> "AbstractContextManager[PendingRun]":
    """Resume a stopped run; raise ``UsageError`` for options that would change it."""
    from httpdyno.cli.running import reject_resume_conflicts, resume_named

    reject_resume_conflicts(click.get_current_context(), _ALLOWED_WITH_RESUME)
    return resume_named(name, runs, interruption, agreed=False, verb="conform")


def _run(
    run_of: "AbstractContextManager[PendingRun]", clients: Sequence[str], options: _Options, interruption: Interruption
) -> "tuple[Run, Mapping[str, BuildOutcome]] | None":
    """Try the cases that a run still lacks; print the outcomes of all; return the run, and the builds.

    None if the run goes on in the background.
    """
    from httpdyno.cli.output import resume_hint_on_error, write_report
    from httpdyno.cli.running import detach_run
    from httpdyno.experiments.registry import definition_of
    from httpdyno.judge.scripted.case_file import ChosenCases
    from httpdyno.lab.conformance import results_of

    with interruption, run_of as run, resume_hint_on_error(run):
        if options.detach:
            detach_run(run, "conform", options.format_name)
            return None
        assert run.manifest is not None, "it is kept"
        chosen = ChosenCases.of_settings(run.manifest.settings)
        builds = show_builds(run.subjects, run.place.cache, interruption)
        require_builds(builds, every=False)
        run.settle(builds)
        typed = {Path(name).resolve().name if os.sep in name else name: shlex.quote(name) for name in clients}
        for build in filter(None, (outcome.build for outcome in builds.values())):
            client = build.subject.id
            _try_client(run, build, chosen, interruption)
            if options.format_name == "table":
                own = results_of([trial for trial in run.trials if trial.subject == client])
                _print_client(build.subject, typed.get(client, client), build.version, own)
        kept = run.close(whole=True)
        assert kept is not None, "it is kept"
        if options.format_name != "table":
            print_tables([definition_of("conformance").presentation.table(run.trials)], options.format_name)
        tell(f"run: {kept.folder}")
        tell(f"report: {write_report(kept)}")
    return kept, builds


def _try_client(run: "PendingRun", build: "Build", chosen: "ChosenCases", interruption: Interruption) -> None:
    """Try with one client the cases that have no result in the run, and keep each trial as soon as it is final."""
    from httpdyno.experiments.registry import definition_of
    from httpdyno.lab.conformance import CaseRunner, results_of
    from httpdyno.lab.scripted_cases import try_scripted

    done = {one.case for one in results_of([trial for trial in run.trials if trial.subject == build.subject.id])}
    left = [file for file in chosen.files if file.id not in done]
    rules = definition_of("conformance").judging.rules
    pinning = run.place.pinning.or_shared(os.sched_getaffinity(0))
    runner = CaseRunner(run.place.engine, build, pinning, interruption, rules=rules)
    with messages().status("", spinner="dots") as status:
        for trial in try_scripted(runner, left, tries=chosen.tries, tell=status.update):
            run.keep_unsampled(trial)


def _results_by_client(run: "Run") -> "dict[str, Sequence[CaseResult]]":
    from httpdyno.lab.conformance import results_of

    trials = run.records()
    clients = dict.fromkeys(trial.subject for trial in trials)
    return {client: results_of([trial for trial in trials if trial.subject == client]) for client in clients}


def _print_client(subject: "Subject", typed: str, version: str | None, own: "Sequence[CaseResult]") -> None:
    """Print the outcomes of one client; ``typed`` is its name on the command line, perhaps a path."""
    from httpdyno.judge.scripted.summary import (
        describe_result,
        describe_unsupported,
        not_passed,
        passing_known_failures,
        summarise,
        suspects_adapter,
    )
    from httpdyno.model import CaseOutcome
    from httpdyno.report.cell import without_controls
    from httpdyno.subjects.folders import SUBJECT_FILE

    client = subject.id
    results().out(without_controls(f"{client}{f' {version}' if version else ''}: {summarise(own)}"))
    worst = not_passed(own)
    lines = [
        (result.outcome, describe_result(result)) for result in worst if result.outcome is not CaseOutcome.UNSUPPORTED
    ]
    for outcome, line in (*lines, *((CaseOutcome.UNSUPPORTED, line) for line in describe_unsupported(own))):
        print_marked(f"{outcome:<11}", f" {line}", _COLOURS.get(str(outcome)))
    for case in passing_known_failures(subject, own):
        results().out(f"{case} passes: remove its [[known_failure]] from {subject.folder / SUBJECT_FILE}")
    if suspects_adapter(own):
        results().out(f"{client} passes no case: its adapter may be broken; see: httpdyno subjects check {typed}")
    if worst:
        results().out(f"show one: httpdyno conform {typed} {worst[0].case} --show")


def _show(clients: Sequence[str], files: "Sequence[CaseFile]", options: _Options) -> None:
    """Try each case once, alone, with one client, and print what happened; no run is kept."""
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.lab.conformance import CaseRunner

    catalogue, ids = read_named_subjects(clients, options.subjects)
    if len(ids) != 1:
        raise UsageError(
            f"--show: it takes exactly one CLIENT, not {len(ids)}; such as: httpdyno conform native CASE --show"
        )
    # The first is the named one; its profiles have names of their own.
    chosen = catalogue.with_profiles(ids)[:1]
    place = make_place(options.cpus, options.out)
    with Interruption() as interruption:
        outcomes = show_builds(chosen, place.cache, interruption)
        require_builds(outcomes, every=True)
        for build in filter(None, (outcome.build for outcome in outcomes.values())):
            runner = CaseRunner(place.engine, build, place.pinning, interruption)
            for file in files:
                _show_case(runner, file)


def _show_case(runner: "CaseRunner", file: "CaseFile") -> None:
    from httpdyno.judge.conformance import judge_cases
    from httpdyno.judge.scripted.outcomes import decide
    from httpdyno.judge.scripted.stimuli import missing_capability, process_of, rows_shown, seen_of
    from httpdyno.report.cell import without_controls

    subject, out = runner.build.subject, results().out
    head = f"{file.id}: {file.title}\n{file.clause} ({file.level}). {file.why}".rstrip()
    if missing := missing_capability(subject, file):
        out(f"{head}\nunsupported: {subject.id} does not claim {missing}\n")
        return
    process = process_of(subject, [file])
    observation = runner.observe(process.stimulus.attempts[0])
    seen = seen_of(file, observation)
    out(head)
    for line in (*seen.transcript.lines(), *rows_shown(seen)):
        out(without_controls(line))
    (result,) = judge_cases(subject, process.cases, observation)
    reason = "; ".join(breach.seen for breach in result.breaches)
    out(without_controls(f"{result.outcome}: {reason or decide(file, seen).reason}"))
    out("")


def _serve(file: "CaseFile") -> None:
    """Replace this process by an origin that plays the case, after a line with the command to try it."""
    from httpdyno.judge.scripted.script import compile_script
    from httpdyno.lab.scratch import ScratchFile
    from httpdyno.subjects.engine_program import find_engine

    engine = find_engine()
    scripts = ScratchFile()
    scripts.write([compile_script([file]).encode()])
    os.set_inheritable(scripts.descriptor, True)
    plain, tls, dns = _free_ports(3)
    ports = ((80, plain), (443, tls))
    hosts = [f"--connect-to {name}:{port}:127.0.0.1:{to}" for name in file.hosts.values() for port, to in ports]
    tell(f"{file.id}: {file.title}; try it with:")
    for url in file.full_urls:
        tell(f"curl -v --insecure {' '.join(hosts)} {shlex.quote(url)}")
    listen = ["--listen", f"127.0.0.1:{plain}", "--control", "off", "--tls-port", str(tls), "--dns-port", str(dns)]
    # The engine gets the file by its descriptor, so nothing is left when it ends.
    os.execv(engine, ["httpdyno", "origin", "--web", "plain", "--scripts", str(scripts.path), *listen])


def _free_ports(count: int) -> list[int]:
    """Return ports of the loopback on which nothing listens."""
    with ExitStack() as open_sockets:
        found = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]


def _read_expected(file: Path | None, *, update: bool) -> dict[str, dict[str, str]]:
    """Read the file of ``--expect``; with ``--update`` it may be missing."""
    from httpdyno.judge.scripted.summary import read_expected

    if file is None or (update and not file.exists()):
        return {}
    try:
        return read_expected(str(file), file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidValue(f"--expect {file}: cannot be read: {said}; make it with --update") from error


def _page_of(matrix: "Matrix") -> str:
    from httpdyno.report.conformance import render_matrix

    return render_matrix(matrix)


def _data_of(matrix: "Matrix") -> str:
    return json.dumps(asdict(matrix), indent=1) + "\n"


_WRITERS: Final = {".html": _page_of, ".json": _data_of}
"""The text of a matrix by the end of the file's name."""


def check_matrix_file(file: Path) -> None:
    """Raise ``InvalidValue`` if the name of a matrix does not tell its format."""
    if file.suffix not in _WRITERS:
        raise InvalidValue(f"--matrix {file}: its name ends in {file.suffix!r}; end it in .html or .json")


def write_matrix(file: Path, *runs: "Run") -> None:
    """Write the matrix of runs of ``conform`` as a page or as data."""
    from httpdyno.report.conformance import matrix_of_runs

    check_matrix_file(file)
    text = _WRITERS[file.suffix](matrix_of_runs(runs))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"--matrix {file}: cannot be written: {error.strerror}") from error
    tell(f"matrix: {file}")


def _compare(
    expected: dict[str, dict[str, str]], file: Path, tested: "Mapping[str, Sequence[CaseResult]]", *, update: bool
) -> None:
    """Print each cell that is worse than expected, and end with 1 if there is one; or renew the file."""
    from httpdyno.judge.scripted.case_file import read_cases
    from httpdyno.judge.scripted.summary import compared_badly, renew_expected, worse_cells

    known = read_cases()
    if update:
        for client, results in tested.items():
            expected = renew_expected(expected, client, results, known)
        try:
            file.write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise StorageFailed(f"--expect {file}: cannot be written: {error.strerror}") from error
        tell(f"renewed {file}")
        return
    for client, results in tested.items():
        for line in compared_badly(expected.get(client, {}), client, results, known):
            tell(f"--expect {file}: {line}; renew it with --update")
    worse = [line for client, results in tested.items() for line in worse_cells(expected, client, results)]
    for line in worse:
        tell(f"worse: {line}")
    if worse:
        raise Exit(1)
