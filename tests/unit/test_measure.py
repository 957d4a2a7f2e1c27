"""The final lines of the measurements, and changes since a commit."""

import csv
from pathlib import Path

import pytest

from measure import COLUMNS, Change, Left, append_figures, changes_since, last_lines

MACHINE = "2 x of this kind"


def rows(*given: tuple[str, str, float, str]) -> list[dict[str, str]]:
    """Return rows of the file: commit, figure, value, machine."""
    return [
        {"commit": commit, "test": "t.py::a", "figure": name, "value": str(value), "machine": kind, "unit": "ms"}
        for commit, name, value, kind in given
    ]


def test_a_figure_is_compared_with_what_was_measured_after_a_commit() -> None:
    found = changes_since(
        "aaa",
        rows(
            ("000", "start", 900, MACHINE),
            ("aaa1", "start", 10, MACHINE),
            ("aaa1", "start", 30, MACHINE),
            ("aaa1", "start", 20, MACHINE),
            ("aaa1", "steady", 100, MACHINE),
            ("aaa1", "gone", 5, MACHINE),
            ("aaa1", "start", 1_000, "another kind"),
            ("bbb", "start", 40, MACHINE),
            ("bbb", "steady", 101, MACHINE),
            ("bbb", "new", 1, MACHINE),
            ("bbb", "start", 4_000, "another kind"),
        ),
        MACHINE,
    )
    assert found == [Change("t.py::a start", 20, 40, "ms"), Change("t.py::a steady", 100, 101, "ms")]
    assert [change.ratio for change in found] == [2, pytest.approx(1.01)]


def test_a_commit_that_was_never_measured_has_nothing_to_compare() -> None:
    assert changes_since("ccc", rows(("aaa", "start", 10, MACHINE)), MACHINE) == []


def test_figures_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    for value in (1.5, 2.5):
        append_figures(path, [{"test": "t.py::a", "figure": "start", "value": value, "unit": "ms"}])
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["value"] for row in found] == ["1.5", "2.5"]
    assert all(row[name] for row in found for name in COLUMNS)


def test_the_last_lines() -> None:
    parts = [Left(3, ("a",), ("b: the host took 20% of a CPU",)), Left(2)]
    assert last_lines(parts) == [
        "INCONCLUSIVE b: the host took 20% of a CPU",
        "FAILED a",
        "5 passed, 1 failed, 1 inconclusive",
    ]
