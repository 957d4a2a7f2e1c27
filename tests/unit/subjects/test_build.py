"""Builds: made once for each state of their files, completely or not at all, and one at a time for a subject."""

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from conftest import MakeSubject
from httpdyno.errors import Interrupted, StorageFailed
from httpdyno.model import Subject
from httpdyno.subjects.build import BuildState, build_place, build_subjects, find_build, log_tail
from httpdyno.subjects.catalogue import Catalogue, read_subject, subjects_table

BUILD = '[build]\nargv = ["sh", "build.sh"]\n[version]\nargv = ["cat", "product"]'


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def built(make_subject: MakeSubject, tmp_path: Path) -> Subject:
    """A subject whose build counts how often it runs."""
    folder = make_subject("counted", more=BUILD)
    script = f"echo once >> {tmp_path}/count\necho 1.2.3 > product\nmkdir -p lib/certifi\n: > lib/certifi/cacert.pem\n"
    (folder / "build.sh").write_text(script, encoding="utf-8")
    return read_subject(folder)


def times_built(tmp_path: Path) -> int:
    return len((tmp_path / "count").read_text(encoding="utf-8").splitlines())


def test_a_build_is_made_once(built: Subject, cache: Path, tmp_path: Path) -> None:
    states: list[BuildState] = []

    def tell(_: Subject, state: BuildState) -> None:
        states.append(state)

    first = build_subjects([built], cache, tell=tell)["counted"].build
    second = build_subjects([built], cache, tell=tell)["counted"].build
    assert first is not None
    assert first == second == find_build(built, cache)
    assert first.version == "1.2.3"
    assert first.folder.is_relative_to(cache)
    assert first.argv == ("python3", "-S", "main.py")
    assert [path.name for path in first.trust_files] == ["cacert.pem"]
    assert times_built(tmp_path) == 1
    assert states == [BuildState.BUILDING, BuildState.BUILT, BuildState.READY]


def test_a_changed_file_is_built_again_elsewhere(built: Subject, cache: Path, tmp_path: Path) -> None:
    first = build_subjects([built], cache)["counted"].build
    (built.folder / "main.py").write_text("pass", encoding="utf-8")
    assert find_build(built, cache) is None
    second = build_subjects([built], cache)["counted"].build
    assert first is not None
    assert second is not None
    assert first.folder != second.folder
    assert times_built(tmp_path) == 2


def test_build_products_in_the_folder_do_not_change_the_fingerprint(built: Subject, cache: Path) -> None:
    before = build_place(built, cache)
    for name in (".venv", "node_modules", "target", "__pycache__"):
        (built.folder / name).mkdir()
        (built.folder / name / "product").write_text("x", encoding="utf-8")
    assert build_place(built, cache) == before


def test_temporary_files_of_a_build_are_removed_with_it(
    make_subject: MakeSubject, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    folder = make_subject("forgets", more='[build]\nargv = ["sh", "-c", "mktemp > made"]')
    build = build_subjects([read_subject(folder)], cache)["forgets"].build
    assert build is not None
    made = Path((build.folder / "made").read_text(encoding="utf-8").strip())
    assert made.is_relative_to(cache)
    assert not made.exists()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_mode_and_the_name_of_a_file_count(built: Subject, cache: Path) -> None:
    seen = {build_place(built, cache).fingerprint}
    (built.folder / "main.py").chmod(0o755)
    seen.add(build_place(built, cache).fingerprint)
    (built.folder / "main.py").rename(built.folder / "other.py")
    seen.add(build_place(built, cache).fingerprint)
    assert len(seen) == 3


def test_a_failure_keeps_its_log_and_lets_the_others_go_on(
    built: Subject, make_subject: MakeSubject, cache: Path
) -> None:
    folder = make_subject("broken", more='[build]\nargv = ["sh", "-c", "seq 30; echo no luck >&2; exit 3"]')
    outcomes = build_subjects([read_subject(folder), built], cache)
    broken = outcomes["broken"]
    assert outcomes["counted"].build is not None
    assert broken.build is None
    assert broken.log is not None
    assert f"broken: the build failed with exit status 3: no luck (all of it: {broken.log})" == str(broken.error)
    assert log_tail(broken.log) == [*map(str, range(22, 31)), "no luck"]
    assert find_build(read_subject(folder), cache) is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[build]\nargv = ["no-such-program"]', "failed with exit status 127"),
        ('[version]\nargv = ["sh", "-c", "echo oh >&2; exit 1"]', "[version] failed with exit status 1, printing oh"),
        ('[version]\nargv = ["no-such-program"]', "the command of [version] does not run"),
        ('[version]\nargv = ["{target}/release/nothing"]', "the build left no "),
    ],
)
def test_a_failed_build_or_version_command_has_its_reason(
    make_subject: MakeSubject, cache: Path, more: str, said: str
) -> None:
    outcome = build_subjects([read_subject(make_subject("bad", more=more))], cache)["bad"]
    assert outcome.build is None
    assert said in str(outcome.error)


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("1.2.3", "1.2.3"),
        ("20.20.2 (undici 6.24.1)", "20.20.2 (undici 6.24.1)"),
        ("httperf: httperf-0.9.0 compiled without DEBUG without TIME_SYSCALLS.", "0.9.0"),
        ("This is ApacheBench, Version 2.3 <Revision: 1903618>", "2.3"),
        ("k6 v1.8.1 (go1.26.8, linux/amd64)", "1.8.1"),
        ("of today", "of today"),
    ],
)
@pytest.mark.parametrize("status", [0, 1])
def test_of_a_sentence_the_number_is_the_version(
    make_subject: MakeSubject, cache: Path, printed: str, version: str, status: int
) -> None:
    argv = json.dumps(["sh", "-c", f"echo '{printed}'; exit {status}"])
    build = build_subjects([read_subject(make_subject("one", more=f"[version]\nargv = {argv}"))], cache)["one"].build
    # A command with an error must have printed a number.
    assert (build and build.version) == (version if status == 0 or "." in version else None)


def test_the_list_of_subjects_has_the_number_alone(make_subject: MakeSubject, cache: Path) -> None:
    subject = read_subject(make_subject("one", more='[version]\nargv = ["echo", "1.0.5 (libcurl 7.88.1, async 1.30)"]'))
    build_subjects([subject], cache)
    assert subjects_table(Catalogue({"one": subject}, {}), cache).rows[0][4] == "1.0.5"


def test_a_missing_program_is_no_build(make_subject: MakeSubject, cache: Path) -> None:
    folder = make_subject("needy", needs='no-such-program = ">=1"')
    outcome = build_subjects([read_subject(folder)], cache)["needy"]
    assert "needs no-such-program >=1, found none; install it with:" in str(outcome.error)
    assert outcome.log is None


def test_an_interruption_ends_running_builds(make_subject: MakeSubject, cache: Path, tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid; sleep 1000 & wait"
    folder = make_subject("slow", more=f'[build]\nargv = ["sh", "-c", "{script}"]')
    started = tmp_path / "pid"
    with pytest.raises(Interrupted):
        build_subjects(
            [read_subject(folder)],
            cache,
            stop=lambda: started.exists() and started.read_text(encoding="utf-8").strip() != "",
        )
    assert find_build(read_subject(folder), cache) is None
    group = int(started.read_text(encoding="utf-8"))
    wait_for(lambda: not process_group_alive(group))


def test_a_killed_run_takes_its_builds_along(make_subject: MakeSubject, cache: Path, tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid; sleep 1000 & wait"
    folder = make_subject("slow", more=f'[build]\nargv = ["sh", "-c", "{script}"]')
    program = textwrap.dedent(f"""
        from pathlib import Path
        from httpdyno.subjects.build import build_subjects
        from httpdyno.subjects.catalogue import read_subject
        build_subjects([read_subject(Path({str(folder)!r}))], Path({str(cache)!r}))
    """)
    pid_file = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", program]) as run:
        try:
            wait_for(lambda: pid_file.exists() and pid_file.read_text(encoding="utf-8").strip() != "")
        finally:
            run.kill()
    group = int(pid_file.read_text(encoding="utf-8"))
    wait_for(lambda: not process_group_alive(group))


def test_two_runs_at_once_build_once(built: Subject, cache: Path, tmp_path: Path) -> None:
    (built.folder / "build.sh").write_text(
        f"until [ -e {tmp_path}/waited-for ]; do sleep 0.02; done; echo once >> {tmp_path}/count; echo 1 > product\n",
        encoding="utf-8",
    )
    program = textwrap.dedent(f"""
        import json
        from pathlib import Path
        from httpdyno.subjects.build import build_subjects
        from httpdyno.subjects.catalogue import read_subject
        states = []
        def tell(subject, state):
            states.append(str(state))
            if states[-1] == "waiting":  # only then the other one's build may end
                Path({str(tmp_path / "waited-for")!r}).touch()
        outcome = build_subjects(
            [read_subject(Path({str(built.folder)!r}))],
            Path({str(cache)!r}),
            tell=tell,
        )
        print(json.dumps([states, outcome["counted"].build is not None]))
    """)
    with contextlib.ExitStack() as running:
        runs = []
        for _ in range(2):
            run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
            runs.append(running.enter_context(run))
            running.callback(run.kill)
        said = sorted(json.loads(run.communicate()[0]) for run in runs)
    assert said == [[["building", "built"], True], [["waiting", "ready"], True]]
    assert times_built(tmp_path) == 1


def test_a_build_that_was_cut_short_is_made_anew(built: Subject, cache: Path, tmp_path: Path) -> None:
    build_subjects([built], cache)
    place = build_place(built, cache)
    (place.path / "complete.json").write_text('{"version": "1.', encoding="utf-8")
    (place.folder / "leftover").write_text("x", encoding="utf-8")
    assert build_subjects([built], cache)["counted"].build is not None
    assert times_built(tmp_path) == 2
    assert not (place.folder / "leftover").exists()


def test_a_cache_that_cannot_be_written_is_one_line(built: Subject, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageFailed, match=r"building subjects: cannot write .*file.*: Not a directory"):
        build_subjects([built], tmp_path / "file")


def process_group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition: object, seconds: float = 300.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
