"""The planned time of a web, from the engine's expectation for each URL."""

from pathlib import Path

import numpy as np
import pytest

from httpdyno.errors import EngineFailed
from httpdyno.lab.planned_time import PlannedTime, planned_time, read_planned_time

HEAD = "url,outcome,status,length,cause,arrives,request_url,requests,planned_ms\n"


def planned(folder: Path, text: str) -> PlannedTime:
    (folder / "expect.csv").write_text(text)
    return read_planned_time(folder / "expect.csv", timeout_s=5)


def test_exchanges_add_up_and_one_that_never_ends_takes_the_timeout(tmp_path: Path) -> None:
    rows = (
        '"https://a.example/,x",status,200,13,,1,https://a.example/,1,348.726\n'
        "https://b.example/,error,,,nxdomain,0,https://b.example/,0,32.5\n"
        "https://c.example/,error,,,stall_tls,0,https://c.example/,0,\n"
        "https://d.example/,either,200,13,timeout,1,https://d.example/,1,9000\n"
    )
    found = planned(tmp_path, HEAD + rows)
    assert (found.total_s, found.longest_s, found.urls) == (pytest.approx(10.381226), 5.0, 4)
    assert found.late == ((pytest.approx(5.381226), 5.0),)


def test_the_slowest_urls_are_those_that_time_out_then_those_whose_name_server_fails(tmp_path: Path) -> None:
    rows = (
        "https://a.example/,error,,,servfail,0,https://a.example/,0,2000\n"
        "https://b.example/,status,200,13,,1,https://b.example/,1,1999\n"
        "https://c.example/,error,,,stall_tls,0,https://c.example/,0,\n"
        "https://d.example/,error,,,nxdomain,0,https://d.example/,0,32.5\n"
        "https://e.example/,error,,,timeout,1,https://e.example/,1,5000\n"
    )
    (tmp_path / "expect.csv").write_text(HEAD + rows)
    assert read_planned_time(tmp_path / "expect.csv", timeout_s=5).slow == (2, 4, 0)
    assert read_planned_time(tmp_path / "expect.csv", timeout_s=1.9).slow == (0, 1, 2, 4)
    (tmp_path / "expect.csv").write_text(HEAD)
    assert read_planned_time(tmp_path / "expect.csv", timeout_s=5).slow == ()


def test_an_exchange_before_a_longer_one_is_never_the_last() -> None:
    found = planned_time(np.array([5.0, 0.5, 2.0, 1.0]))
    assert found.late == ((0.0, 5.0), (5.5, 2.0), (7.5, 1.0))


@pytest.mark.parametrize(("busy_s", "end_s"), [(0.0, 5.0), (1.0, 5.0), (8.5, 8.5), (17.0, 16.0)])
def test_a_list_ends_with_the_latest_of_its_exchanges(busy_s: float, end_s: float) -> None:
    assert planned_time(np.array([5.0, 0.5, 2.0, 1.0])).end_s(busy_s) == pytest.approx(end_s)


def test_a_list_of_unknown_order_may_end_with_its_longest_exchange() -> None:
    assert PlannedTime(8.5, 5.0, urls=4).end_s(8.5) == 13.5
    assert planned_time(np.empty(0)).end_s(1.0) == 1.0


def test_no_url_takes_no_time(tmp_path: Path) -> None:
    assert planned(tmp_path, HEAD) == PlannedTime(0, 0)
    assert planned(tmp_path, "") == PlannedTime(0, 0)


def test_what_is_no_such_csv_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="renew the engine with") as raised:
        planned(tmp_path, "a,b\n1,2\n")
    assert "\n" not in raised.value.line


@pytest.mark.parametrize(("in_flight", "per_s"), [(1, 2.0), (10, 20.0)])
def test_the_plan_allows_as_many_urls_as_are_in_flight_in_the_mean(in_flight: int, per_s: float) -> None:
    assert PlannedTime(total_s=50.0, longest_s=5.0, urls=100).per_s(in_flight) == per_s


def test_a_plan_of_no_time_allows_any_number() -> None:
    assert PlannedTime(0, 0, urls=100).per_s(10) is None
