"""The commands end to end: real engine, real rooms."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.asking_client import ASKS
from doubles.command_line import CORRECT, Command, Ended
from httpdyno.store import open_run

START = [sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())"]

FETCH = "import sys, urllib.request as u; [print(u.urlopen(url).status) for url in sys.argv[1:]]"

PATIENT = ("--web", "plain", "--timeout", "60")
"""A web without stalls: no answer has to come soon."""


def test_a_crawl_is_verified_from_end_to_end(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    nothing_left: Callable[..., None],
) -> None:
    make_subject("asks", ASKS)
    make_subject("lies", ANSWERS_ALL)
    given = ["asks", "lies", "--subjects", str(subject_folders), *PATIENT, "--format", "json"]
    (tmp_path / "list").write_text(
        "a.example\nb.example/plain\nhttps://c.example/bytes/7\nd.example\n", encoding="utf-8"
    )
    ended = httpdyno("bench", *given, "--urls", "list", "--repeat", "2")
    assert ended.code == 0, ended.err
    rows = {row["subject"]: row for row in ended.rows}
    assert (rows["asks"]["verdict"] in CORRECT, rows["asks"]["wrong"], rows["asks"]["2xx"]) == (True, 0, 4)
    assert (rows["lies"]["verdict"] != "VALID", rows["lies"]["wrong"]) == (True, 4)
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert [trial.block for trial in run.records()] == [0, 0, 1, 1]
    assert run.manifest.webs[0].name == "plain"
    nothing_left()


def test_what_is_no_url_is_a_row_with_an_error(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path
) -> None:
    make_subject("asks", ASKS)
    (tmp_path / "list").write_text("a.example\nnot a url\nhttps://[::1\n", encoding="utf-8")
    ended = httpdyno("try", "asks", "--subjects", str(subject_folders), *PATIENT, "--format", "json", "--urls", "list")
    (row,) = ended.rows
    assert (row["totalUrls"], row["2xx"], row["Exception"], row["wrong"]) == (3, 1, 2, 0)


def test_two_runs_at_once_do_not_meet(
    start: Callable[..., "subprocess.Popen[str]"],
    wait_for_end: Callable[[object], Ended],
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    nothing_left: Callable[..., None],
) -> None:
    make_subject("asks", ASKS)
    given = ["bench", "asks", "--subjects", str(subject_folders), *PATIENT, "--repeat", "1", "--format", "json"]
    both = [wait_for_end(process) for process in [start(*given, "--limit", "20"), start(*given, "--limit", "20")]]
    for ended in both:
        assert ended.code == 0, ended.err
        (row,) = ended.rows
        assert (row["totalUrls"], row["wrong"], row["connections"]) == (20, 0, 20)
        assert row["verdict"] in CORRECT
    runs = list((tmp_path / "runs").iterdir())
    assert len(runs) == 2
    assert all(open_run(run).manifest.state == "complete" for run in runs)
    nothing_left()


def test_a_room_passes_streams_and_status_through(environment: dict[str, str], tmp_path: Path) -> None:
    started = subprocess.run(
        [*START, "room", "--web", "plain", "--", "sh", "-c", "cat; echo problem >&2; exit 7"],
        input="hello",
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in started.stderr.splitlines() if not line.startswith("httpdyno")]
    assert (started.returncode, started.stdout, said) == (7, "hello", ["problem"])


def test_a_room_ends_with_what_the_command_did_and_cost(httpdyno: Command) -> None:
    ended = httpdyno("room", "--", sys.executable, "-c", FETCH, "http://example.com/json", "https://www.example.org/")
    assert (ended.code, ended.out) == (0, "200\n200\n"), ended.err
    spent = (
        r"httpdyno: room: 2 requests, 1 handshake, \d+ bytes received, \d+ sent, \d+\.\d{3} s of CPU in \d+\.\d{3} s"
    )
    assert re.fullmatch(spent, ended.err.splitlines()[-1]), ended.err
    assert "fault" not in ended.err


def test_a_message_names_the_hosts_with_a_fault_when_a_command_fails(httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(
        'name = "mine"\nseed = 1\n[[host]]\nname = "gone.example"\nfault = "nxdomain"\n', encoding="utf-8"
    )
    urls = ["http://there.example/", "http://gone.example/"]
    ended = httpdyno("room", "--web", "web.toml", "--", sys.executable, "-c", FETCH, *urls)
    assert (ended.code, ended.out) == (1, "200\n"), ended.err
    named, spent = ended.err.splitlines()[-2:]
    assert named == (
        "httpdyno: room: requested hosts with a planned fault (web mine): gone.example (nxdomain);"
        " --web plain has no faults"
    )
    assert spent.startswith("httpdyno: room: 1 request, ")


IS_REFUSED = """
import contextlib, socket, ssl, urllib.error, urllib.request
for _ in range(3):
    with contextlib.suppress(OSError), socket.create_connection(("a.example", 443)) as stream:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(stream, server_hostname="a.example")
with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
    datagrams.sendto(b"?", ("8.8.8.8", 53))
with contextlib.suppress(urllib.error.HTTPError):
    urllib.request.urlopen("http://a.example/status/429")
"""


def test_what_a_command_was_refused_is_said_at_its_end(httpdyno: Command) -> None:
    ended = httpdyno("room", "--web", "plain", "--", sys.executable, "-c", IS_REFUSED)
    assert ended.code == 0
    outside, trust, status, _ = ended.err.splitlines()[-4:]
    assert outside == (
        "httpdyno: room: 1 attempt to addresses outside the web: no route leads there; its DNS server is 198.18.0.1"
    )
    assert trust == (
        "httpdyno: room: the command rejected the room's certificates in 3 handshakes;"
        " if it has its own trust store, name that file: --trust-file FILE"
    )
    assert status == "httpdyno: room: 429 from a.example: planned by the web, not network failures"


def test_a_handshake_that_the_web_spoils_is_not_the_commands_refusal(httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(
        'name = "mine"\nseed = 1\n[[host]]\nname = "old.example"\nfault = "expired_certificate"\n', encoding="utf-8"
    )
    ended = httpdyno("room", "--web", "web.toml", "--", sys.executable, "-c", FETCH, "https://old.example/")
    assert ended.code == 1
    assert "trust" not in ended.err


def test_a_message_explains_that_a_command_ran_out_of_memory(httpdyno: Command) -> None:
    ended = httpdyno("room", "--web", "plain", "--memory", "64MiB", "--", sys.executable, "-c", "bytearray(400 << 20)")
    if "memory is not limited" in ended.err or ended.code == 0:
        pytest.skip("no control group keeps a limit of memory here")
    assert "room: out of memory: the kernel killed a process of the command at the limit of 64 MiB\n" in ended.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["curl", "-s", "http://a.example/"], "room: write -- before the command: httpdyno room -- curl ..."),
        (["--trust-file", "/tmp", "--", "true"], "--trust-file /tmp: is a folder; name a file"),
        (["--trust-file", "/nowhere", "--", "true"], "--trust-file /nowhere: No such file or directory"),
        (["--stdin", "/nowhere", "--", "true"], "--stdin /nowhere: No such file or directory"),
        (["--stdin", "/tmp", "--", "true"], "--stdin /tmp: is a folder; name the file"),
        (["--subject-cpus", "999", "--", "true"], "CPUs of the subject: CPU 999 is not available here; choose from"),
        (["--report", "/nowhere/report", "--", "true"], "--report /nowhere/report: No such file or directory"),
        (["--arrivals", "/tmp", "--", "true"], "--arrivals /tmp: Is a directory"),
        (["--directory", "/nowhere", "--", "true"], "--directory /nowhere: No such file or directory"),
    ],
)
def test_what_is_wrong_is_said_before_there_is_a_room(httpdyno: Command, typed: list[str], said: str) -> None:
    refused = httpdyno("room", "--web", "plain", *typed)
    assert refused.code == 2
    assert refused.err.startswith(f"httpdyno: {said}"), refused.err
    assert len(refused.err.splitlines()) == 1


def test_what_a_shell_passes_as_a_file_name_is_read_or_refused(environment: dict[str, str], tmp_path: Path) -> None:
    def bash(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", script],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    read = bash("httpdyno room --web plain --stdin <(echo http://a.example/) -- cat")
    assert (read.returncode, read.stdout) == (0, "http://a.example/\n"), read.stderr
    refused = bash("httpdyno room --web plain -- cat <(echo hello)")
    assert refused.returncode == 2
    assert "a command in a room has only standard input, output and error" in refused.stderr


def test_a_deadline_says_that_it_ended_the_command(httpdyno: Command) -> None:
    ended = httpdyno("room", "--web", "plain", "--deadline", "0.5s", "--", "sleep", "1000")
    assert ended.code == 124
    assert "httpdyno: room: --deadline: the command was still running after 0.5 s and was ended\n" in ended.err


LEAVES_ITS_GROUP = """
import os, signal, time
child = os.fork()
if not child:
    os.setpgid(0, 0)
    time.sleep(1000)
while os.getpgid(child) != child:
    pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setpgid(0, child)
time.sleep(1000)
"""


def test_a_command_that_leaves_its_process_group_does_not_leave_its_deadline(
    environment: dict[str, str], tmp_path: Path
) -> None:
    # Only a command with a terminal can: any other leads a session.
    words = [*START, "room", "--web", "plain", "--deadline", "1s", "--", sys.executable, "-c", LEAVES_ITS_GROUP]
    ended = subprocess.run(
        ["script", "--quiet", "--return", "--command", shlex.join(words), "/dev/null"],
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 124, ended.stdout
    assert "the command was still running after 1 s and was ended" in ended.stdout


def test_try_takes_a_pipe(environment: dict[str, str], make_subject: MakeSubject, subject_folders: Path) -> None:
    make_subject("asks", ASKS)
    done = subprocess.run(
        [*START, "try", "asks", "--subjects", str(subject_folders), *PATIENT],
        input="a.example\nnot a url\n",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith("[200] https://a.example : ")
    assert second.startswith("[")
    assert " not a url : " in second


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["origin", "--web", "no-such"], "--web no-such: there is no such file or web; webs are top-sites, "),
        (
            ["room", "--web", "no-such", "--", "true"],
            "--web no-such: there is no such file or web; webs are top-sites, ",
        ),
        (
            ["origin", "--port", "81", "--listen", "0.0.0.0"],
            "--port 81 conflicts with --listen; write the port there: --listen",
        ),
    ],
)
def test_a_mistake_that_the_engine_finds_is_a_usage_error(httpdyno: Command, typed: list[str], said: str) -> None:
    ended = httpdyno(*typed)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith(f"httpdyno: {said}")
