"""The page of a load in a real browser: its table, its charts, and both on a phone and in the dark."""

from pathlib import Path

import pytest

from browser.conftest import HOSTILE, PHONE, Open

CHARTS = ("percentiles", "phases", "throughput", "times", "lag", "outcomes")


def test_the_table_has_every_kind_of_time_and_every_percentile(load_page: Path, open_page: Open) -> None:
    page = open_page(load_page).page
    assert page.locator("h1").inner_text().startswith("291 answers a second, half of them within 95.5\u00a0ms")
    headings = page.locator("#figures thead th").all_inner_texts()
    assert headings == ["time", "count", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"]
    rows = page.locator("#figures tbody tr")
    assert rows.locator("td:first-child, th:first-child").all_inner_texts() == [
        "response time",
        "service time",
        "send lag",
        "connect",
        "first byte",
        "content",
    ]
    assert rows.nth(0).locator("td").all_inner_texts()[-8:-4] == ["1748", "128 ms", "95.5 ms", "325 ms"]
    assert page.locator("#trials tbody tr").count() == 2


@pytest.mark.parametrize("width", [PHONE, 1280])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_chart_is_drawn_in_colours_of_its_scheme(
    load_page: Path, width: int, colours: str, open_page: Open
) -> None:
    opened = open_page(load_page, width, color_scheme=colours)
    page = opened.page
    assert [figure.get_attribute("id") for figure in page.locator("figure").all()] == [f"chart-{c}" for c in CHARTS]
    for chart in CHARTS:
        drawing = page.locator(f"#chart-{chart} .drawing:visible svg")
        assert drawing.count() == 1
        colour = drawing.locator(":scope > rect").evaluate("element => getComputedStyle(element).fill")
        assert colour == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}[colours]
        # Drawings have a size, and lie within the window.
        mark = "[aria-roledescription=bar]" if chart == "outcomes" else "path[stroke^='var(--series-']"
        boxes = [box for mark in drawing.locator(mark).all() if (box := mark.bounding_box())]
        assert max(box["width"] for box in boxes) > width / 5
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert opened.complaints == []


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_the_percentile_chart_names_its_lines_and_has_room_for_its_tail(
    load_page: Path, width: int, open_page: Open
) -> None:
    page = open_page(load_page, width).page
    words = page.locator("#chart-percentiles .drawing:visible svg text").all_text_contents()
    assert {"response time", "service time", "send lag", "percentile of answers"} <= set(words)
    # From the median to the tail, a nine takes as much room as the one before.
    assert {"0 %", "90 %", "99 %"} <= set(words)


def test_a_percentile_is_read_off_with_the_pointer(load_page: Path, open_page: Open) -> None:
    opened = open_page(load_page)
    drawing = opened.page.locator("#chart-percentiles .drawing.wide")
    opened.show(drawing)
    drawing.locator("[aria-roledescription=point]").nth(20).hover(force=True)
    assert opened.tip("percentile of answers").inner_text().startswith("response time, percentile of answers ")


def test_a_rule_that_could_not_be_judged_has_the_reason(load_page: Path, open_page: Open) -> None:
    row = open_page(load_page).page.locator("#rules tbody tr", has_text="wrong_answers").inner_text()
    assert "not judged: no --check says what is right" in row
    assert "no answers" not in row


def test_a_load_without_answers_shows_its_errors(failed_load_page: Path, open_page: Open) -> None:
    opened = open_page(failed_load_page)
    page = opened.page
    assert page.locator("h1").inner_text() == "0 answers a second, 5 errors."
    # One second is a point: no line could be seen.
    points = page.locator("#chart-throughput .drawing.wide [aria-roledescription=point]")
    assert {point.get_attribute("opacity") for point in points.all()} == {"1"}
    assert "ConnectionRefused" in page.locator("#chart-outcomes .wide svg").inner_html()
    assert HOSTILE in page.locator(".eyebrow").inner_text()
    assert page.evaluate("window.broken") is None
    assert opened.complaints == []


def test_points_of_a_line_are_not_seen(load_page: Path, open_page: Open) -> None:
    points = open_page(load_page).page.locator("#chart-throughput .drawing.wide [aria-roledescription=point]")
    assert {point.get_attribute("opacity") for point in points.all()} == {"0"}
