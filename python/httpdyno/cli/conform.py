"""``httpdyno conform``: the conformance of clients, a scripted case a clause."""

import json
import os
import shlex
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from click.exceptions import Exit

from httpdyno.cli.completion import offer_conform
from httpdyno.cli.options import Cpus, Format, OutputFolder, SubjectFolders
from httpdyno.cli.subjects import require_builds, show_builds
from httpdyno.cli.terminal import messages, print_marked, print_tables, results, tell
from httpdyno.cli.verb import verb
from httpdyno.errors import InvalidValue, StorageFailed, UsageError
from httpdyno.experiments.option_fields import Option
from httpdyno.lab.interruption import Interruption

if TYPE_CHECKING:
    from httpdyno.judge.scripted.case_file import CaseFile
    from httpdyno.judge.scripted.matrix import Tested
    from httpdyno.lab.conformance import CaseRunner
    from httpdyno.model import CaseResult, Table, Trial
    from httpdyno.model.matrix import Matrix

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
) -> None:
    """Try how clients behave against servers that follow, stretch or break the standards, a case a clause.

    Each case is a server that is scripted byte by byte, in a room. Its outcome is pass, lenient, fail, unsafe, hang,
    crash, unsteady or unsupported. The results are kept as a run: `httpdyno report latest`. Exit code 0 whatever the
    outcomes, except with --expect.
    """
    from httpdyno.judge.scripted.case_file import choose_cases, read_cases

    if (list_cases or show or serve) and (expect or matrix):
        raise UsageError("--expect, --matrix: they keep the outcomes of a run; leave out --list, --show and --serve")
    if matrix is not None and matrix.suffix not in _WRITERS:
        raise InvalidValue(f"--matrix {matrix}: its name ends in {matrix.suffix!r}; end it in .html or .json")
    clients, cases = split_names(names or ())
    files = choose_cases(read_cases(), [serve] if serve else cases, group or (), level or ())
    if update and expect is None:
        raise UsageError("--update: it renews the file of --expect, which is missing; add --expect FILE")
    if not files:
        raise UsageError("--group, --level: no case is in all of them; see the cases with: httpdyno conform --list")
    if list_cases:
        print_tables([_case_list(files)], format)
        return
    if serve:
        _serve(files[0])
        return
    options = _Options(cpus, subjects, out, tries, format)
    if show:
        _show(clients, files, options)
        return
    expected = _read_expected(expect, update=update)
    tested = _run(clients, files, options)
    if matrix is not None:
        _write_matrix(matrix, tested, files)
    _compare(expected, expect, tested, update=update)


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
    tries: int
    format_name: str


def _run(clients: Sequence[str], files: "Sequence[CaseFile]", options: _Options) -> "list[Tested]":
    """Try the cases with each client, print the outcomes and keep them as a run."""
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.experiments.experiment import Beginning
    from httpdyno.experiments.registry import definition_of
    from httpdyno.judge.scripted.matrix import Tested
    from httpdyno.lab.conformance import CaseRunner
    from httpdyno.lab.scripted_cases import try_scripted
    from httpdyno.model import Cases
    from httpdyno.runs.pending import begin_run

    catalogue, ids = read_named_subjects(clients, options.subjects)
    place = make_place(options.cpus, options.out)
    definition = definition_of("conformance")
    begin, rules, tabulate = (
        definition.planning.begin,
        definition.judging.rules,
        definition.presentation.tabulate,
    )
    assert begin is not None, "its runs begin here"
    assert tabulate is not None, "its rows are cases"
    typed = dict(zip(ids, map(shlex.quote, clients), strict=True))
    own: list[CaseResult]
    tested: list[Tested] = []
    trials: list[Trial] = []
    with Interruption() as interruption:
        scripted = tuple(file.id for file in files)
        experiment, chosen, _ = begin(Beginning(catalogue, place, interruption, tell), ids, scripted)
        with begin_run(experiment, chosen, None, place) as run:
            outcomes = show_builds(chosen, place.cache, interruption)
            require_builds(outcomes, every=False)
            run.settle(outcomes)
            for build in filter(None, (outcome.build for outcome in outcomes.values())):
                runner = CaseRunner(place.engine, build, place.pinning, interruption, rules=rules)
                client, own = build.subject.id, []
                tested.append(Tested(build.subject, build.version or "", own))
                with messages().status("", spinner="dots") as status:
                    for trial in try_scripted(runner, files, tries=options.tries, tell=status.update):
                        run.keep_unsampled(trial)
                        trials.append(trial)
                        own += trial[Cases].cases
                if options.format_name == "table":
                    _print_client(client, typed.get(client, client), build.version, own)
            run.close(whole=True)
            if options.format_name != "table":
                print_tables([tabulate(trials)], options.format_name)
            tell(f"run: {run.folder}")
    require_builds(outcomes, every=bool(clients))
    return tested


def _print_client(client: str, typed: str, version: str | None, own: "Sequence[CaseResult]") -> None:
    """Print the outcomes of one client; ``typed`` is its name on the command line, perhaps a path."""
    from httpdyno.judge.scripted.summary import (
        describe_result,
        describe_unsupported,
        not_passed,
        summarise,
        suspects_adapter,
    )
    from httpdyno.model import CaseOutcome
    from httpdyno.report.cell import without_controls

    results().out(without_controls(f"{client}{f' {version}' if version else ''}: {summarise(own)}"))
    worst = not_passed(own)
    lines = [
        (result.outcome, describe_result(result)) for result in worst if result.outcome is not CaseOutcome.UNSUPPORTED
    ]
    for outcome, line in (*lines, *((CaseOutcome.UNSUPPORTED, line) for line in describe_unsupported(own))):
        print_marked(f"{outcome:<11}", f" {line}", _COLOURS.get(str(outcome)))
    if suspects_adapter(own):
        results().out(f"{client} passes no case: its adapter may be broken; see: httpdyno subjects check {typed}")
    if worst:
        results().out(f"show one: httpdyno conform {typed} {worst[0].case} --show")


def _show(clients: Sequence[str], files: "Sequence[CaseFile]", options: _Options) -> None:
    """Try each case once, alone, with one client, and print what happened; no run is kept."""
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.lab.conformance import CaseRunner
    from httpdyno.model import SubjectKind

    catalogue, ids = read_named_subjects(clients, options.subjects)
    chosen = catalogue.select_of_kind(ids, SubjectKind.CLIENT) if ids else ()
    if len(chosen) != 1:
        raise UsageError(
            f"--show: it takes exactly one CLIENT, not {len(chosen)}; such as: httpdyno conform native CASE --show"
        )
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


def _write_matrix(file: Path, tested: "Sequence[Tested]", cases: "Sequence[CaseFile]") -> None:
    from httpdyno import __version__
    from httpdyno.judge.scripted.matrix import matrix_of

    matrix = matrix_of(datetime.now(UTC).date().isoformat(), __version__, tested, cases)
    try:
        file.write_text(_WRITERS[file.suffix](matrix), encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"--matrix {file}: cannot be written: {error.strerror}") from error
    tell(f"matrix: {file}")


def _compare(
    expected: dict[str, dict[str, str]], file: Path | None, tested: "Sequence[Tested]", *, update: bool
) -> None:
    """Print each cell that is worse than expected, and end with 1 if there is one; or renew the file."""
    from httpdyno.judge.scripted.summary import renew_expected, worse_cells

    if file is None or not tested:
        return
    if update:
        for one in tested:
            expected = renew_expected(expected, one.subject.id, one.results)
        try:
            file.write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise StorageFailed(f"--expect {file}: cannot be written: {error.strerror}") from error
        tell(f"renewed {file}")
        return
    worse = [line for one in tested for line in worse_cells(expected, one.subject.id, one.results)]
    for line in worse:
        tell(f"worse: {line}")
    if worse:
        raise Exit(1)
