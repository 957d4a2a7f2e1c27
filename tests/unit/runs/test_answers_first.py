"""The printed result of a run begins with its answer, on any width of terminal."""

import tarfile
from pathlib import Path

import pytest

from httpdyno.report.formats import Surface, render
from httpdyno.runs.showing import shown_tables
from httpdyno.store import open_run

KEPT = Path(__file__).parents[2] / "golden" / "runs-of-version-1"
ANSWERS = {
    "capacity": "native holds 50 requests a second at 1 of 2 points",
    "cost": "Rust httpdyno fetch: 0.144 ms of CPU time for each verified document",
    "latency": "",
    "service": "10 connections: ",
    "tune": "native: best with 100 in flight: 722.9 right answers a second",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_run_begins_with_its_answer(tmp_path: Path, name: str) -> None:
    with tarfile.open(KEPT / f"{name}.tar.xz") as kept:
        kept.extractall(tmp_path, filter="data")
    run = open_run(tmp_path / name)
    first = shown_tables(run, "table")[0]
    answer = first.title.splitlines()[0]
    assert answer.startswith(ANSWERS[name])
    narrow = render(first, "table", Surface(width=60))
    assert " ".join(narrow.split()).startswith(" ".join(answer.split()))
    assert render(first, "markdown", Surface()).startswith("**")
    plain = shown_tables(run, "plain")[0]
    assert answer in [note.text for note in plain.notes]
    # Where a server breaks is never left out.
    assert not any(column.dispensable for column in first.columns if column.name in {"breaks_at", "breaks at"})
