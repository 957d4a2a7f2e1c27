"""Every kind of chart is drawn for any input: valid Vega-Lite, and a safe SVG."""

from xml.etree import ElementTree

import pytest

from doubles.charts import require_valid
from httpdyno.model import Axis, Chart, ChartKind, Scale, Series, Tile, Tone
from httpdyno.report.charts import png, specification, svg
from httpdyno.report.charts.canvas import DARK, LIGHT, VARIABLES, Canvas, Ruler

pytestmark = pytest.mark.slow

WIDTHS = (760, 350)
HOSTILE = '</text><script>alert(1)</script>"\x1b[31m{signal: 1}'


def chart(kind: ChartKind, names: list[str], x: Axis | None = None, y: Axis | None = None) -> Chart:
    categories = kind in {ChartKind.INTERVALS, ChartKind.STACKED_BARS}
    places: tuple[float | str, ...] = ("A", "B", "C") if categories else (1.0, 50.0, 90.0)
    series = []
    for number, name in enumerate(names, start=1):
        if kind is ChartKind.INTERVALS:
            value = 10.0 * number
            series.append(Series(name, (name, name), (value * 0.9, value * 1.1), faint=True))
            series.append(Series(name, (name,), (value,), (value * 0.8,), (value * 1.2,)))
        elif kind is ChartKind.STAIRS:
            # Open above, bounded, nothing reached; behind it the prediction.
            series.append(Series(name, (1.0, 50.0, 90.0), (9.0, 4.0, None), (9.0, 3.0, None), (None, 6.0, 2.0)))
            series.append(Series(name, (1.0, 90.0), (9.0, 2.0), faint=True))
        else:
            series.append(Series(name, places, (1.0, None, 3.0 * number), faint=True))
            series.append(Series(name, places, (1.0 * number, 2.0, 4.0)))
    tiles = tuple(
        Tile(name, column, row, tone, "100", f"{column}, {row}: {tone}")
        for name in (names if kind is ChartKind.TILES else ())
        for row in ("low", "high")
        for column, tone in zip("abcdef", Tone, strict=True)
    )
    across = x or Axis("time", "s")
    return Chart(
        "name",
        "title",
        kind,
        across,
        y or Axis("rate"),
        tuple(series),
        colours=tuple(names),
        tiles=tiles,
        reference=3.0,
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_a_legend_of_long_names_makes_no_chart_of_trends_smaller(width: int) -> None:
    names = [f"Python Starlette, uvicorn {number}" for number in range(11)]
    root = ElementTree.fromstring(svg(chart(ChartKind.TRENDS, names), Canvas(width, LIGHT)))
    assert float(root.attrib["width"]) <= width * 1.02


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [0, 1, 4, 13])
@pytest.mark.parametrize("kind", ChartKind)
def test_a_specification_is_valid_and_can_be_drawn(kind: ChartKind, count: int, width: int) -> None:
    drawn = chart(kind, [f"subject {number}" for number in range(count)])
    require_valid(drawn, Canvas(width, LIGHT))
    root = ElementTree.fromstring(svg(drawn, Canvas(width, LIGHT)))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    # The space around the frame is estimated: the drawing may be a little wider, and is then scaled down.
    assert float(root.attrib["width"]) <= width * 1.08


@pytest.mark.parametrize("kind", ChartKind)
def test_names_are_written_as_text(kind: ChartKind) -> None:
    text = svg(chart(kind, [HOSTILE, "other"]), Canvas(760, VARIABLES))
    root = ElementTree.fromstring(text)
    assert not [element for element in root.iter() if element.tag.rpartition("}")[2] in {"script", "foreignObject"}]
    assert "\x1b" not in text
    assert "\\x1b" in text


@pytest.mark.parametrize("kind", sorted(set(ChartKind) - {ChartKind.STACKED_BARS, ChartKind.TILES}))
def test_a_subject_has_its_colour_in_every_kind_of_chart(kind: ChartKind) -> None:
    for theme in (LIGHT, DARK, VARIABLES):
        text = svg(chart(kind, ["a", "b", "c"]), Canvas(760, theme))
        assert [colour in text for colour in theme.series[:4]] == [True, True, True, False]


def test_the_tooltips_of_a_bar_have_names_and_counts() -> None:
    text = svg(
        Chart(
            "outcomes",
            "",
            ChartKind.STACKED_BARS,
            Axis("subject"),
            Axis("share"),
            (Series("right", ("A",), (75.0,)), Series("late", ("A",), (25.0,))),
        ),
        Canvas(760, LIGHT),
    )
    assert 'aria-label="A, right: 75 of 100, 75 %"' in text
    assert LIGHT.outcomes["right"] in text
    assert LIGHT.outcomes["late"] in text


def test_the_parts_of_a_sum_have_its_unit_and_the_sum_stands_at_the_end() -> None:
    text = svg(
        Chart(
            "sums",
            "",
            ChartKind.STACKED_BARS,
            Axis("subject"),
            Axis("CPU time", "s"),
            (Series("user", ("A", "B"), (2.25, 1.0)), Series("system", ("A", "B"), (0.5, 0.0))),
        ),
        Canvas(760, LIGHT),
    )
    assert 'aria-label="A, user: 2.25 s"' in text
    assert 'aria-label="A, system: 0.5 s"' in text
    assert "B, system" not in text
    assert ">2.75<" in text
    assert " %" not in text


def test_a_percentile_axis_gives_every_nine_the_same_room() -> None:
    axis = Axis("percentile", "%", Scale.PERCENTILE)
    series = Series("a", (0.0, 90.0, 99.0, 99.9, 100.0), (1.0, 2.0, 3.0, 4.0, 5.0))
    drawn = Chart("p", "", ChartKind.LINES, axis, Axis("response time", "ms", Scale.LOGARITHMIC), (series,))
    described = specification(drawn, Canvas(760, LIGHT))
    points = [row["x"] for row in described["datasets"]["rows-0"]]
    assert points == pytest.approx([1, 10, 100, 1000])  # 100 % lies beyond the end of any such axis
    text = svg(drawn, Canvas(760, LIGHT))
    assert all(f">{tick} %<" in text for tick in ("90", "99", "99.9"))


def test_a_png_has_two_pixels_for_each_of_the_canvas() -> None:
    image = png(chart(ChartKind.INTERVALS, ["a"]), Canvas(400, LIGHT))
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(image[16:20], "big") > 700


@pytest.mark.parametrize(
    ("values", "extent"),
    [
        ([], (0.0, 1.0)),
        ([0.0], (0.0, 1.0)),
        ([178.0, 60.0], (0.0, 200.0)),
        ([12.0], (0.0, 12.0)),
        ([-3.0, 7.0], (-3.0, 8.0)),
        ([float("nan"), None, 5.0], (0.0, 5.0)),
    ],
)
def test_a_linear_axis_holds_zero_and_ends_at_a_round_number(
    values: list[float | None], extent: tuple[float, float]
) -> None:
    ruler = Ruler.around(Axis(""), values, 100)
    assert (ruler.low, ruler.high) == pytest.approx(extent)


def test_a_logarithmic_axis_holds_every_positive_value_and_has_some_width() -> None:
    axis = Axis("", scale=Scale.LOGARITHMIC)
    wide, narrow = (Ruler.around(axis, values, 100) for values in ([0.0, -1.0, 3.0, 5000.0], [1.0]))
    assert wide.low < 3 < 5000 < wide.high
    assert narrow.low == pytest.approx(1 / narrow.high)
    assert narrow.high / narrow.low > 3
    assert Ruler.around(axis, [], 100) == narrow


@pytest.mark.parametrize(
    ("extent", "pixels", "without"),
    [
        ((0, 50), 567, "datum.value > 42.5 && datum.value < 47.5 ? '' : "),
        ((0, 50), 700, ""),
        ((0, 50), 288, "datum.value > 35 && datum.value < 45 ? '' : "),
        # Nothing stands at the end.
        ((0, 53), 567, ""),
    ],
)
def test_a_label_that_collides_with_that_of_the_end_is_left_out(
    extent: tuple[float, float], pixels: int, without: str
) -> None:
    label, upright = (
        Ruler(Axis("", "ms"), *extent, pixels).labels(upright=upright)["labelExpr"] for upright in (False, True)
    )
    assert label == without + upright


@pytest.mark.parametrize(
    ("extent", "pixels", "ticks"),
    [
        ((0.28, 1.1), 470, [0.3, 0.5, 0.7, 1.0]),
        ((0.28, 1.1), 150, [0.5, 1.0]),
        ((5, 5000), 600, [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]),
        ((5, 5000), 320, [10, 30, 100, 300, 1000, 3000]),
        ((1e-3, 1e6), 400, [10.0**decade for decade in range(-3, 7)]),
    ],
)
def test_a_logarithmic_axis_has_as_many_labels_as_have_room(
    extent: tuple[float, float], pixels: int, ticks: list[float]
) -> None:
    labels = Ruler(Axis("", scale=Scale.LOGARITHMIC), *extent, pixels).labels()
    assert labels["values"] == pytest.approx(ticks)
