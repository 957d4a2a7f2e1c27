"""The published figures of the capacity question: complete, with the oddities of their remarks."""

from dataclasses import dataclass
from itertools import product

import pytest

from doubles.collected import collected, number
from doubles.presets import published_tables
from httpdyno.published import PublishedTable, published_table

NAMES = {
    "capacity-batch-1": "go-client-batch-1-localhost.csv",
    "capacity-batch-1-public-network": "go-client-batch-1-public-network.csv",
    "capacity-batch-2": "go-client-batch-2-localhost.csv",
    "capacity-batch-3": "go-client-batch-3-client-10gbit.csv",
    "capacity-batch-3-23gbit": "go-client-batch-3-client-23gbit.csv",
    "capacity-batch-4": "go-client-batch-4-results.csv",
}


@dataclass(frozen=True)
class Row:
    delay: int
    second: int
    concurrency: int
    latency_s: float | None
    per_s: float

    @property
    def in_flight(self) -> float:
        """The rate of the row by Little's law."""
        return self.per_s * (self.latency_s or 0.0)


def rows_of(name: str) -> list[Row]:
    return [Row(*list(row.values())[1:]) for row in published_table(name).rows]  # type: ignore[arg-type]


def said(name: str) -> str:
    return " ".join(published_table(name).remarks)


def test_each_batch_is_there_with_a_preset_of_its_own() -> None:
    tables = published_tables("capacity")
    assert {table.name for table in tables} == set(NAMES)
    assert {table.preset for table in tables} == {name.replace("capacity", "published") for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_those_that_were_collected(name: str) -> None:
    expected, table = collected(NAMES[name]), published_table(name)
    assert len(expected) == len(table.rows)
    for line, row in zip(expected, table.rows, strict=True):
        assert list(line) == [column.name for column in table.columns]
        figures = {name: None if text == "NaN" else number(text) for name, text in line.items()}
        assert row == {"subject": "hey", **figures}


@pytest.mark.parametrize("table", published_tables("capacity"), ids=lambda table: table.name)
def test_no_point_has_two_rows(table: PublishedTable) -> None:
    points = [tuple(row.values())[:4] for row in table.rows]
    assert len(set(points)) == len(points)


def test_only_the_rows_that_the_remarks_name_break_littles_law() -> None:
    impossible = {name: [row for row in rows_of(name) if row.in_flight > 1.001 * row.concurrency] for name in NAMES}
    first, *others = impossible.pop("capacity-batch-1")
    assert (first, round(first.in_flight)) == (rows_of("capacity-batch-1")[0], 1307)
    assert [row.concurrency for row in others] == [100] * 59
    assert others == [row for row in rows_of("capacity-batch-1") if row.concurrency == 100]
    assert [round(extreme([row.in_flight for row in others])) for extreme in (min, max)] == [105, 138]
    assert not any(impossible.values())


def test_the_points_that_are_missing_are_those_of_the_remark() -> None:
    there = {(row.delay, row.second, row.concurrency) for row in rows_of("capacity-batch-1")}
    whole = set(product(range(100, 2001, 100), (0, 500, 1000), range(100, 1501, 100)))
    assert whole - there == {(100, 0, 100), (100, 0, 200)}


def test_the_distance_of_the_public_network_is_in_its_figures() -> None:
    rows = rows_of("capacity-batch-1-public-network")
    extra_ms = [1000 * row.latency_s - row.delay for row in rows if row.latency_s and row.second == 0]
    assert min(extra_ms) == pytest.approx(38.7, abs=0.05)
    failed = [row for row in rows if row.latency_s is None]
    assert (len(failed), {row.delay for row in failed}) == (14, {600})
    assert failed == rows[-14:]
    for size_kib, per_s in ((500, 110), (1000, 55)):
        assert per_s * size_kib * 1024 * 8 / 1e6 == pytest.approx(450, rel=0.01)


def test_concurrency_limits_batches_2_and_3() -> None:
    assert min(row.in_flight / row.concurrency for row in rows_of("capacity-batch-2")) == pytest.approx(0.87, abs=0.005)
    for name in ("capacity-batch-3", "capacity-batch-3-23gbit"):
        rows = rows_of(name)
        assert min(row.in_flight / row.concurrency for row in rows) > 0.99
        assert max(row.per_s for row in rows) < 1130
        assert max(row.per_s * row.second * 1024 * 8 / 1e9 for row in rows) == pytest.approx(0.91, abs=0.005)


def test_the_label_of_batch_4_is_no_distance() -> None:
    rows = rows_of("capacity-batch-4")
    assert sum((row.latency_s or 0) * 1000 < row.delay for row in rows) == 158
    assert "158 of 250" in said("capacity-batch-4")
    for rate, concurrency in product(range(4, 11), range(200, 1001, 200)):
        alike = [row.per_s for row in rows if (row.second, row.concurrency) == (rate, concurrency)]
        assert len(alike) == 5
        assert max(alike) / min(alike) < 1.04


def test_the_rate_decides_batch_4_alone() -> None:
    rows = rows_of("capacity-batch-4")
    assert all((row.per_s >= 2000) == (row.second >= 4) for row in rows)
    shares = sorted(row.per_s * 200 * 1024 * 8 / (row.second * 1e9) for row in rows if row.concurrency == 200)
    assert shares[len(shares) // 2] == pytest.approx(0.993, abs=0.0005)
    slow = [row for row in rows if row.per_s * 200 * 1024 * 8 < 0.93e9 * row.second]
    assert all((row.second, row.concurrency >= 600) == (1, True) for row in slow)
    assert min(row.per_s for row in slow) == pytest.approx(338, abs=0.5)
    assert max(row.in_flight / row.concurrency for row in slow) < 0.92
