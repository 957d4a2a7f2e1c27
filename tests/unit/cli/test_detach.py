"""`bench --detach`: the run continues without the command that began it."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.store import holder_of, open_run

PATIENCE_S = 300
"""Against hangs only."""

WAITS_ONCE = """
import os, sys
if not os.path.exists({flag!r}):
    open({flag!r}, "w").close()
    open({gate!r}).read()
for line in sys.stdin:
    print(f"{{line.strip()}},200,2026-11-21T10:00:00.000000+00:00,1.5,13", flush=True)
"""


@pytest.fixture(autouse=True)
def nothing_left_running(tmp_path: Path) -> Iterator[None]:
    """End background processes of a failed test."""
    yield
    for folder in (tmp_path / "runs").glob("*"):
        if holder := holder_of(folder):
            os.kill(holder, signal.SIGKILL)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A pipe on which subjects wait for the time of the test: then they end, in any case."""
    pipe = tmp_path / "gate"
    os.mkfifo(pipe)
    # A pipe with both ends open never blocks its opening.
    held = os.open(pipe, os.O_RDWR)
    yield pipe
    os.close(held)


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """A good client and the option for its folder."""
    make_subject("good")
    return ["good", "--subjects", str(subject_folders), "--repeat", "1"]


def wait_for(condition: Callable[[], bool], evidence: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, evidence()
        time.sleep(0.02)


def process_of(ended: Ended) -> int:
    found = re.search(r"in the background as process ([0-9]+); stop it with: kill \1$", ended.err, re.MULTILINE)
    assert found, ended.err
    return int(found[1])


def printed_at_the_end(ended: Ended, folder: Path) -> str:
    """Return the output of the process in the background when it has ended; it is a child of this one."""
    output, process = folder / "output.txt", process_of(ended)
    wait_for(lambda: os.waitpid(process, os.WNOHANG)[0] == process, output.read_text)
    assert holder_of(folder) is None
    return output.read_text()


def test_the_folder_is_printed_and_the_results_come_there(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    # The list is read before: the process in the background does not have this standard input.
    ended = httpdyno(
        "bench",
        *given,
        "--urls",
        "-",
        "--detach",
        "--format",
        "plain",
        stdin=b"a.example\nb.example\nc.example\nd.example\n",
    )
    assert ended.code == 0
    name = ended.out.strip()
    folder = tmp_path / name
    assert ended.err.endswith(f"watch it with: tail -f {name}/output.txt, or: httpdyno runs\n")
    printed = printed_at_the_end(ended, folder)
    assert "trial 1 of 1: good: 4 URLs in" in printed
    assert "right/s" in printed
    run = open_run(folder)
    assert (run.manifest.state, len(run.trials)) == ("complete", 1)
    assert set(run.samples().collect()["url"]) == {f"https://{name}.example" for name in "abcd"}
    assert run.manifest.command[-1] == "plain"
    assert run.manifest.resumed_at == ()
    left = {path.name for path in folder.iterdir()}
    assert {"manifest.json", "output.txt", "samples.parquet", "trials.parquet"} <= left
    assert left.isdisjoint({"lock", "parts", "urls.gz"})


def test_from_the_first_moment_the_run_is_running_in_a_session_of_its_own(
    httpdyno: Command, given: list[str], tmp_path: Path, make_subject: MakeSubject, gate: Path
) -> None:
    make_subject("slow", program=f"open({str(gate)!r}).read()")
    ended = httpdyno("bench", "slow", *given[1:], "--limit", "4", "--detach")
    folder = tmp_path / ended.out.strip()
    holder = holder_of(folder)
    assert holder is not None
    assert holder
    assert holder == process_of(ended)
    assert os.getsid(holder) == holder
    (row,) = httpdyno("runs", "--format", "json").rows
    assert (row["state"], row["process"]) == ("running", holder)
    assert "is still running" in httpdyno("bench", "--resume", str(folder)).err
    # The terminal of its start does not matter any more: none of its descriptors are open.
    wait_for(lambda: "building" in (folder / "output.txt").read_text(), (folder / "output.txt").read_text)
    streams = [Path(f"/proc/{holder}/fd/{number}").readlink() for number in range(3)]
    assert streams == [Path(os.devnull), folder / "output.txt", folder / "output.txt"]
    os.kill(holder, signal.SIGKILL)
    printed_at_the_end(ended, folder)


def test_it_is_stopped_by_a_signal_and_goes_on_in_the_background(
    httpdyno: Command, given: list[str], tmp_path: Path, make_subject: MakeSubject, gate: Path
) -> None:
    flag = tmp_path / "waits"
    make_subject("once", program=WAITS_ONCE.format(flag=str(flag), gate=str(gate)))
    ended = httpdyno("bench", "good", "once", *given[1:], "--limit", "4", "--detach")
    folder = tmp_path / ended.out.strip()
    wait_for(flag.exists, (folder / "output.txt").read_text)
    finished = len(open_run(folder).trials)
    os.kill(process_of(ended), signal.SIGTERM)
    assert "(partial); continue with: httpdyno bench --resume" in printed_at_the_end(ended, folder)
    assert len(open_run(folder).trials) == finished < 2
    again = httpdyno("bench", "--resume", "latest", "--detach")
    assert again.code == 0, again.err
    assert again.out == ended.out
    printed_at_the_end(again, folder)
    run = open_run(folder)
    assert (run.manifest.state, {trial.subject for trial in run.records()}) == ("complete", {"good", "once"})
    assert len(run.manifest.resumed_at) == 1


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["god"], "'god': there is no such client", 2),
        (["good", "--timeout", "soon"], "--timeout: 'soon' is not understood", 2),
        (["good", "--urls", "absent"], "absent: cannot be read", 2),
        (["good", "--web", "nowhere"], "there is no web 'nowhere'", 2),
        (["good", "--format", "xml"], "--format: 'xml' is unknown", 2),
        (["--resume", "nothing"], "'nothing': there is no such run", 2),
    ],
)
def test_what_cannot_begin_is_said_at_once(
    httpdyno: Command, given: list[str], tmp_path: Path, arguments: list[str], said: str, code: int
) -> None:
    more = [] if "--resume" in arguments else given[1:]
    ended = httpdyno("bench", *arguments, *more, "--detach")
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert not (tmp_path / "runs").exists()


def test_a_missing_engine_is_said_at_once(httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", "/no/engine")
    ended = httpdyno("bench", *given, "--detach")
    assert (ended.code, ended.out) == (3, "")


def test_what_goes_wrong_later_stands_in_the_output(
    httpdyno: Command, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    ended = httpdyno("bench", *given, "--limit", "4", "--detach")
    assert ended.code == 0
    folder = tmp_path / ended.out.strip()
    assert "the engine failed: no user namespaces here" in printed_at_the_end(ended, folder).splitlines()[-1]
    assert open_run(folder).manifest.state == "partial"
