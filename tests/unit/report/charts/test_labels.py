"""Labels stay apart, and figures are written as people read them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.model import Axis
from httpdyno.report.charts.labels import apart, figure, told_apart, with_unit
from httpdyno.report.charts.stacked_bars import percent

POSITIONS = st.lists(st.floats(0, 300), max_size=20)


@given(POSITIONS)
def test_labels_are_apart_and_in_their_order(wanted: list[float]) -> None:
    placed = apart(wanted, 10, 0, 300)
    in_order = [placed[place] for place in sorted(range(len(wanted)), key=lambda place: (wanted[place], place))]
    assert all(after - before >= 10 - 1e-6 for before, after in pairwise(in_order))
    assert all(-1e-6 <= position <= 300 + 1e-6 for position in placed)


@given(POSITIONS)
def test_labels_that_are_apart_already_stay_where_they_are(wanted: list[float]) -> None:
    spread = [20.0 * place for place, _ in enumerate(wanted)][:15]
    assert apart(spread, 20, 0, 300) == spread


def test_labels_for_which_there_is_no_room_go_on_below() -> None:
    assert apart([0, 0, 0], 10, 0, 15) == [0, 10, 20]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["Go net/http", "Python aiohttp (a long one)"], {}),
        (
            ["Python aiohttp (python-aiohttp)", "Python aiohttp (python-aiohttp-mine)"],
            {
                "Python aiohttp (python-aiohttp)": "Python ai\u2026n-aiohttp)",
                "Python aiohttp (python-aiohttp-mine)": "Python ai\u2026http-mine)",
            },
        ),
        (
            ["Java a client of one (with 1 thread)", "Java a client of one (with 2 threads)"],
            {
                "Java a client of one (with 1 thread)": "Java a cl\u2026 1 thread)",
                "Java a client of one (with 2 threads)": "Java a cl\u20262 threads)",
            },
        ),
    ],
)
def test_names_are_not_cut_where_they_differ(names: list[str], shown: dict[str, str]) -> None:
    assert told_apart(names, 20) == shown


@given(st.lists(st.text("ab", max_size=12), max_size=8))
def test_what_is_shortened_fits_and_stays_apart(names: list[str]) -> None:
    short = told_apart(names, 6)
    assert all(len(text) <= 6 for text in short.values())
    distinct = set(names)
    assert len({short.get(name, name) for name in distinct}) == len(distinct)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0"), (0.012345, "0.0123"), (1.5, "1.5"), (99.44, "99.4"), (178.4, "178"), (12967, "12,967")],
)
def test_a_figure_has_three_digits_that_matter(value: float, written: str) -> None:
    assert figure(value) == written


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [(532, "ms", "532 ms"), (5003, "ms", "5 s"), (99.99, "%", "99.99 %"), (1.5, "", "1.5"), (71.8, "MiB", "71.8 MiB")],
)
def test_a_figure_has_its_unit(value: float, unit: str, written: str) -> None:
    assert with_unit(value, Axis("", unit)) == written


@pytest.mark.parametrize(
    ("portion", "written"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.79, "79 %"),
        (0.054, "5.4 %"),
        (0.0005, "0.05 %"),
        (0.00001, "0.001 %"),
        (0.997, "99.7 %"),
        (0.99999, "> 99.9 %"),
    ],
)
def test_a_share_is_not_written_as_all_or_nothing_unless_it_is(portion: float, written: str) -> None:
    assert percent(portion) == written
