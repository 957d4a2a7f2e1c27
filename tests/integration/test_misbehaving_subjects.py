"""Subjects that misbehave: a failed trial with its reason, and the run goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.store import open_run

from .conftest import OF_OUR_OWN_S, right_in_time

PRINT = "print(f'{url},200,2026-11-21T10:00:00.000000+00:00,1.5,16384', flush=True)"
LINES = "import sys, time, os\nurls = [line.strip() for line in sys.stdin]\n"
EACH = f"for url in urls:\n    {PRINT}\n"

MISBEHAVIOUR = {
    "crashes": (LINES + "for url in urls[:3]:\n    " + PRINT + "\nos.abort()\n", "crashed", "SIGABRT"),
    "refuses": (LINES + "print('no, thank you', file=sys.stderr)\nsys.exit(3)\n", "crashed", "no, thank you"),
    "hangs": (LINES + "time.sleep(1000)\n", "hung", "printed nothing"),
    "ignores-the-end": (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + LINES + EACH + "time.sleep(1000)\n",
        "hung",
        "did not exit",
    ),
    "leaves-at-once": ("", "missing", "10 URLs forgotten"),
    "rambles": (LINES + EACH + "print('done with it all!')\n", "garbage", "done with it all!"),
    "repeats": (LINES + EACH + "url = urls[0]\n" + PRINT + "\n", "duplicate", "1 line more"),
    "forgets": (LINES + "urls = urls[1:]\n" + EACH, "missing", "1 URL forgotten"),
    "invents": (LINES + EACH + "url = 'https://elsewhere.example/'\n" + PRINT + "\n", "foreign", "elsewhere.example"),
    "is-no-program": (None, "crashed", "could not be started"),
}
UNENDING = {"hangs", "ignores-the-end"}


@pytest.fixture
def crowd(make_subject: MakeSubject) -> list[str]:
    """Write all of them, and one that behaves."""
    for name, (program, _, _) in MISBEHAVIOUR.items():
        folder = make_subject(name, program or "")
        if program is None:
            text = (folder / "subject.toml").read_text(encoding="utf-8")
            (folder / "subject.toml").write_text(
                text.replace('"python3", "-S", "main.py"', '"./absent"'), encoding="utf-8"
            )
    make_subject("behaves", ANSWERS_ALL.replace(",13", ",16384"))
    return [*MISBEHAVIOUR, "behaves"]


def test_each_is_a_failed_trial_with_its_reason(
    httpdyno: Command, crowd: list[str], subject_folders: Path, tmp_path: Path, nothing_left: Callable[..., None]
) -> None:
    ended = httpdyno(
        "bench", *(name for name in crowd if name not in UNENDING), "--subjects", str(subject_folders),
        "--web", "plain", "--limit", "10", "--duration", "300", "--repeat", "1", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    verdicts = {row["subject"]: row["verdict"] for row in ended.rows}
    # A client that sent no request is found by its arrivals; its trial ended normally.
    assert verdicts.pop("behaves") != "VALID"
    assert {row["subject"]: row["wrong"] for row in ended.rows}["behaves"] == 10
    ending = {name: what for name, what in MISBEHAVIOUR.items() if name not in UNENDING}
    assert verdicts == {name: outcome for name, (_, outcome, _) in ending.items()}
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.state == "complete"
    reasons = {trial.subject: trial.reason or "" for trial in run.records()}
    for name, (_, _, reason) in ending.items():
        assert reason in reasons[name]
    nothing_left()


def test_those_that_do_not_end_are_ended(
    httpdyno: Command, crowd: list[str], subject_folders: Path, tmp_path: Path, nothing_left: Callable[..., None]
) -> None:
    assert set(crowd) > UNENDING

    def reasons(duration_s: int) -> dict[str, tuple[str, str]]:
        ended = httpdyno(
            "bench", *UNENDING, "--subjects", str(subject_folders), "--web", "plain", "--limit", "10",
            "--duration", str(duration_s), "--repeat", "1", "--out", f"runs-{duration_s}",
        )  # fmt: skip
        assert ended.code == 3, ended.err
        (folder,) = (tmp_path / f"runs-{duration_s}").iterdir()
        return {trial.subject: (trial.outcome, trial.reason or "") for trial in open_run(folder).records()}

    # A client that ignores SIGTERM must have received it.
    found = right_in_time(reasons, lambda found: "did not exit" in found["ignores-the-end"][1], timeouts_s=OF_OUR_OWN_S)
    for name in UNENDING:
        _, outcome, reason = MISBEHAVIOUR[name]
        assert found[name][0] == outcome
        assert reason in found[name][1]
    nothing_left()


def test_one_of_them_alone_is_no_success_but_no_crash_of_ours(
    httpdyno: Command, crowd: list[str], subject_folders: Path
) -> None:
    assert "crashes" in crowd
    ended = httpdyno("try", "crashes", "--subjects", str(subject_folders), "--web", "plain", "--limit", "5")
    assert ended.code == 3, "it has no figures"
    assert ended.out.startswith("[200] https://")
    assert "crashed" in ended.out
    assert "Traceback" not in ended.err


def test_a_client_that_waits_for_ever_reads_for_which_urls_and_why(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path
) -> None:
    urls = ["https://length.test/bytes/10", "https://stall-headers.test/"]
    (tmp_path / "list.txt").write_text("\n".join(urls), encoding="utf-8")
    make_subject("waits", LINES + f"url = {urls[0]!r}\n{PRINT}\ntime.sleep(1000)\n")
    said = "1 URL missing: https://stall-headers.test/ (stall_headers); does the client's REQUEST_TIMEOUT cover that?"

    def tried(duration_s: int) -> Ended:
        return httpdyno(
            "try", "waits", "--subjects", str(subject_folders), "--web", "contract", "--urls", "list.txt",
            "--duration", str(duration_s),
        )  # fmt: skip

    # The client must have started before its time is over.
    ended = right_in_time(tried, lambda ended: said in ended.err, timeouts_s=OF_OUR_OWN_S)
    assert ended.code == 3
    # The note below the table is short; the whole sentence is on stderr.
    assert "1 URL missing: https://stall-" in ended.out
