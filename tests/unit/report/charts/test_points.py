"""Points, a fitted curve, and named marks."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.charts import require_valid
from httpdyno.model import Axis, Chart, ChartKind, Mark, Scale, Series
from httpdyno.report.charts import svg
from httpdyno.report.charts.canvas import LABEL_SIZE, LIGHT, Canvas, text_width
from httpdyno.report.charts.points import _choose_sides

NAMES = st.sampled_from(["chosen: 16", "subject.toml: 125", "contention begins: 43", "chosen: 150, as in subject.toml"])


def chart(
    *marks: Mark, low: tuple[float | None, ...] = (8.0, None), high: tuple[float | None, ...] = (12.0, None)
) -> Chart:
    return Chart(
        "tune",
        "title",
        ChartKind.FITTED,
        Axis("requests in flight", scale=Scale.LOGARITHMIC),
        Axis("right answers a second"),
        (
            Series("as measured", (4.0, 4.0, 16.0), (9.0, 11.0, 30.0), faint=True),
            Series("as measured", (4.0, 16.0), (10.0, 30.0), low, high),
            Series("law", (4.0, 8.0, 16.0), (10.0, 19.0, 30.0)),
        ),
        colours=("as measured", "law"),
        marks=marks,
    )


@pytest.mark.parametrize("width", [760, 350])
@pytest.mark.parametrize(
    "marks", [(), (Mark("chosen: 16", 16),), (Mark("chosen: 16", 16), Mark("own: 125", 125, faint=True))]
)
def test_marks_are_drawn_with_their_names(width: int, marks: tuple[Mark, ...]) -> None:
    drawn = chart(*marks)

    require_valid(drawn, Canvas(width, LIGHT))
    text = svg(drawn, Canvas(width, LIGHT))

    ElementTree.fromstring(text)
    for mark in marks:
        assert mark.name in text
    assert text.count("stroke-dasharray") == sum(mark.faint for mark in marks)


def test_a_mark_beyond_the_points_is_on_the_axis() -> None:
    with_mark, without = (
        svg(chart(*marks), Canvas(760, LIGHT)) for marks in ((Mark("own: 900", 900, faint=True),), ())
    )

    widths = [float(re.search(r'<svg[^>]* width="([0-9.]+)"', text)[1]) for text in (with_mark, without)]  # type: ignore[index]
    assert widths[0] == pytest.approx(widths[1], rel=0.05)


def test_the_tooltip_of_a_point_has_its_interval() -> None:
    text = svg(chart(), Canvas(760, LIGHT))

    assert "as measured, requests in flight 4, right answers a second 10, interval 8 to 12" in text


@given(st.lists(st.tuples(st.floats(0, 700), NAMES), max_size=4))
def test_no_line_runs_through_a_name(places: list[tuple[float, str]]) -> None:
    marks = [(at, Mark(name, 1.0)) for at, name in places]

    sided = _choose_sides(marks, 700)

    assert sorted(at for _, at, _ in sided) == sorted(at for at, _ in places)
    for place, (leftwards, at, mark) in enumerate(sided):
        wide = text_width(mark.name, LABEL_SIZE)
        low, high = (at - wide, at) if leftwards else (at, at + wide)
        # A line begins at its own name: only lines of names further up can cross this one.
        through = [other for _, other, _ in sided[:place] if low < other < high]
        assert not through or at <= 350, "to the left half there may be no room"
