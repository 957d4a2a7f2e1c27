"""Messages about wrong answers: at once, and in the stored run."""

from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.command_line import Command
from httpdyno.experiments.registry import definition_of
from httpdyno.experiments.report import usual_report
from httpdyno.store import open_run


@pytest.fixture
def liar(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """A client that reports a byte too much."""
    make_subject("liar", ANSWERS_ALL.replace(",13", ",14"))
    return ["liar", "--subjects", str(subject_folders)]


def test_try_shows_a_wrong_length_and_the_served_one(httpdyno: Command, liar: list[str]) -> None:
    ended = httpdyno("try", *liar, "--limit", "2")
    assert ended.out.startswith("[200, 14 B; served 13] https://host0.example/ : 2ms\n")


def test_bench_and_report_name_the_first_wrong_answers(httpdyno: Command, liar: list[str], tmp_path: Path) -> None:
    said = [
        f"wrong answer of Python liar: [200, 14 B; served 13] https://host{number}.example/" for number in range(10)
    ]
    ended = httpdyno("bench", *liar, "--limit", "12", "--repeat", "2")
    # The first one is under the table; --verbose shows the others.
    assert [line for line in ended.out.splitlines() if line.startswith("wrong answer of")] == said[:1]
    lines = httpdyno("report", "latest", "--format", "table", "--verbose").out.splitlines()
    begin = lines.index(said[0])
    assert lines[begin : begin + 11] == [*said, "4 more wrong answers, not shown"]
    shown = "\n".join(lines)
    assert "\n".join(said) in shown
    # A short table has one line about it, and a hint at more.
    brief = httpdyno("report", "latest", "--format", "table").out.splitlines()
    assert [line for line in brief if "wrong" in line][-1].startswith("Python liar: ")
    assert "wrong answer of" not in httpdyno("report", "latest", "--format", "json").out
    (folder,) = (tmp_path / "runs").iterdir()
    (table,) = usual_report(open_run(folder), definition_of("bench")).evidence
    assert table.title == "Wrong answers"
    assert table.rows[0] == (
        "Python liar",
        "https://host0.example/",
        "200, 14 B; served 13",
        "wrong_length",
        2,
    )
