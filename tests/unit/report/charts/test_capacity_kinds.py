"""Grids, stairs and trends: the end of ``held``, open boundaries, requested values."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from httpdyno.model import Axis, Chart, ChartKind, Series, Tile, Tone
from httpdyno.report.charts import specification, svg
from httpdyno.report.charts.canvas import LIGHT, Canvas

WIDE, PHONE = 760, 350


def tiles(rows: list[str], *, panel: str = "", text: str = "100") -> Chart:
    """Make a grid from rows of ``#`` for held and ``.`` for not, the lowest row last, as it is seen."""
    made = tuple(
        Tile(
            panel,
            str(column),
            str(row),
            Tone.HELD if mark == "#" else Tone.PART,
            text,
            f"at {column} and {row}: {mark}",
        )
        for row, marks in enumerate(reversed(rows))
        for column, mark in enumerate(marks)
    )
    tones = ((Tone.HELD, "all of it"), (Tone.PART, "half of it"), (Tone.LITTLE, "next to nothing"))
    return Chart("g", "", ChartKind.TILES, Axis("rate"), Axis("size"), (), tiles=made, tones=tones)


def rows_of(chart: Chart, role: str, width: int = WIDE) -> list[dict[str, object]]:
    (rows,) = specification(chart, Canvas(width, LIGHT))["datasets"].values()
    return [row for row in rows if row["role"] == role]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (["##", "##"], set()),
        (["..", ".."], set()),
        (["#."], {(1, 0, 1, 1)}),
        ([".", "#"], {(0, 1, 1, 1)}),
        (["..", "#."], {(0, 1, 1, 1), (1, 0, 1, 1)}),
        (["#"], set()),
    ],
)
def test_a_line_goes_between_what_is_held_and_what_is_not(rows: list[str], lines: set[tuple[int, ...]]) -> None:
    found = [(row["x"], row["y"], row["x2"], row["y2"]) for row in rows_of(tiles(rows), "border")]
    assert len(found) == len(set(found))
    assert set(found) == lines


def test_a_point_that_was_not_measured_has_no_border() -> None:
    chart = tiles(["#."])
    assert rows_of(Chart("g", "", chart.kind, chart.x, chart.y, (), tiles=chart.tiles[:1]), "border") == []


def test_an_unknown_point_has_no_border() -> None:
    held, unknown = (
        replace(tile, tone=tone) for tile, tone in zip(tiles(["##"]).tiles, (Tone.HELD, Tone.UNKNOWN), strict=True)
    )
    assert rows_of(replace(tiles(["##"]), tiles=(held, unknown)), "border") == []


def test_the_legend_names_the_tones_that_there_are_in_their_order() -> None:
    text = svg(tiles([".#"]), Canvas(WIDE, LIGHT))
    assert text.index("all of it") < text.index("half of it")
    assert "next to nothing" not in text
    assert 'aria-label="at 1 and 0: #"' in text
    assert LIGHT.tones[Tone.HELD] in text


def test_a_word_for_which_a_tile_has_no_room_is_left_out() -> None:
    wide = tiles(["#" * 10], text="slow")
    assert len(rows_of(wide, "held")) == 10
    assert rows_of(tiles(["#" * 60], text="slow"), "held") == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_a_grid_of_many_panels_stays_on_its_canvas(width: int) -> None:
    panels = tuple(tile for count in (200, 400, 600) for tile in tiles(["#" * 10], panel=f"{count} in flight").tiles)
    drawn = Chart("g", "", ChartKind.TILES, Axis("rate"), Axis("delay"), (), tiles=panels)
    root = ElementTree.fromstring(svg(drawn, Canvas(width, LIGHT)))
    assert float(root.attrib["width"]) <= width * 1.08
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert [text for text in texts if text and text.endswith("in flight")] == [
        f"{n} in flight" for n in (200, 400, 600)
    ]
    assert texts.count("100") == 30


def stairs(*, falls: bool = True) -> Chart:
    low: tuple[float | None, ...] = (9.0, 3.0, None)
    high: tuple[float | None, ...] = (None, 6.0, 2.0)
    reached: tuple[float | None, ...] = (9.0, 4.0, None)
    if not falls:
        low, high, reached = low[::-1], high[::-1], reached[::-1]
    series = Series("a", (1.0, 2.0, 3.0), reached, low, high)
    return Chart("s", "", ChartKind.STAIRS, Axis("distance", "ms"), Axis("size", "KiB"), (series,))


def test_open_ends_have_marks_of_their_own_and_say_what_was_tried() -> None:
    text = svg(stairs(), Canvas(WIDE, LIGHT))
    assert "a, distance 1 ms: 9 KiB or more" in text
    assert "a, distance 2 ms: 4 KiB: 3 KiB for sure, not 6 KiB" in text
    assert "a, distance 3 ms: less than 2 KiB, the smallest value tried" in text
    layers = specification(stairs(), Canvas(PHONE, LIGHT))["layer"]
    assert {layer["mark"].get("shape") for layer in layers} >= {"triangle-up", "triangle-down", "circle"}


@pytest.mark.parametrize(
    ("falls", "walk"),
    [
        (True, [(1, 9), (1, 4), (2, 4), (2, 0), (3, 0)]),
        (False, [(1, 0), (2, 0), (2, 4), (3, 4), (3, 9)]),
    ],
)
def test_between_two_places_only_what_both_reach_is_sure(falls: bool, walk: list[tuple[float, float]]) -> None:
    datasets = specification(stairs(falls=falls), Canvas(PHONE, LIGHT))["datasets"].values()
    (line,) = (rows for rows in datasets if rows and "place" in rows[0])
    assert [(row["x"], row["y"]) for row in line] == walk


def test_what_is_open_between_two_places_is_covered() -> None:
    datasets = specification(stairs(), Canvas(PHONE, LIGHT))["datasets"].values()
    (bands,) = (rows for rows in datasets if rows and {"x2", "y2"} <= set(rows[0]))
    # From 1 to 2 the end is unknown: all tried sizes hold at 1.
    assert [(row["x"], row["x2"], row["y"], row["y2"]) for row in bands] == [(2.0, 3.0, 0.0, 6.0)]


def test_the_reference_is_a_named_line_in_every_panel() -> None:
    series = tuple(Series("100 ms", (1.0, 2.0), (3.0, 4.0), panel=panel) for panel in ("200", "400"))
    chart = Chart(
        "t",
        "",
        ChartKind.TRENDS,
        Axis("x"),
        Axis("y"),
        series,
        reference=5.0,
        reference_name="5 a second",
        ordered=True,
    )
    assert [(row["panel"], row["y"], row["text"]) for row in rows_of(chart, "asked")] == [
        ("200", 5.0, "5 a second"),
        ("400", 5.0, "5 a second"),
    ]
    # Once more as a halo, so that no line runs through it.
    assert svg(chart, Canvas(WIDE, LIGHT)).count("5 a second") == 4


def test_published_lines_lie_behind_and_cannot_be_pointed_at() -> None:
    series = (Series("a", (1.0,), (3.0,), faint=True), Series("a", (1.0,), (4.0,)))
    chart = Chart("t", "", ChartKind.TRENDS, Axis("x"), Axis("y"), series)
    assert [row["y"] for row in rows_of(chart, "faint")] == [3.0]
    assert [row["y"] for row in rows_of(chart, "point")] == [4.0]
