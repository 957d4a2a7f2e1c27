"""The page of a capacity run in a real browser: the grid, how far each client reaches, and a published grid of 250."""

from pathlib import Path

import pytest

from browser.conftest import HOSTILE, PAPER, PHONE, Open

HELD = {"light": "rgb(31, 95, 168)", "dark": "rgb(109, 177, 245)"}


@pytest.mark.parametrize("width", [PHONE, 1280])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_grid_and_frontier_are_drawn_in_colours_of_their_scheme(
    capacity_page: Path, width: int, colours: str, open_page: Open
) -> None:
    opened = open_page(capacity_page, width, color_scheme=colours)
    page = opened.page
    assert [figure.get_attribute("id") for figure in page.locator("figure").all()] == ["chart-frontier", "chart-grid"]
    grid = page.locator("#chart-grid .drawing:visible svg")
    held = grid.locator("path[fill='var(--tone-held)'][aria-label]")
    assert held.count() > 10
    assert held.first.evaluate("element => getComputedStyle(element).fill") == HELD[colours]
    for chart in ("grid", "frontier"):
        drawing = page.locator(f"#chart-{chart} .drawing:visible svg")
        assert drawing.count() == 1
        boxes = [box for mark in drawing.locator("[aria-label]").all() if (box := mark.bounding_box())]
        assert boxes
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert opened.complaints == []
    assert opened.requests == [capacity_page.as_uri()]
    # Nothing makes the page wider than its window.
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_answers_first_and_says_what_the_rate_takes(capacity_page: Path, open_page: Open) -> None:
    page = open_page(capacity_page).page
    assert "2,000 requests a second are held by" in page.locator("h1").inner_text()
    findings = page.locator(".findings li").all_inner_texts()
    assert any(finding.startswith("concurrency: 2,000 a second") for finding in findings)
    assert page.locator("#figures tbody tr").count() == 72


def test_a_point_says_what_it_is_when_it_is_pointed_at(capacity_page: Path, open_page: Open) -> None:
    opened = open_page(capacity_page)
    drawing = opened.page.locator("#chart-grid .drawing.wide")
    opened.show(drawing)
    drawing.locator("path[fill='var(--tone-part)'][aria-label]").first.hover(force=True)
    words = opened.tip(" a second, p99 ").inner_text()
    assert " a second, p99 " in words
    assert ", rtt " in words


def test_a_client_is_singled_out_in_the_frontier(capacity_page: Path, open_page: Open) -> None:
    opened = open_page(capacity_page)
    page = opened.page
    page.locator("nav.subjects button").nth(1).click()
    page.wait_for_selector(":root[data-only]", state="attached")
    opened.settle()
    opacity = "element => getComputedStyle(element).opacity"
    lines = page.locator("#chart-frontier .drawing.wide path[stroke-width='2']")
    faded = {line.get_attribute("stroke"): line.evaluate(opacity) for line in lines.all()}
    assert float(faded["var(--series-1)"]) > 0.9
    assert float(faded["var(--series-0)"]) < 0.2


def test_what_a_client_calls_itself_is_text(capacity_page: Path, open_page: Open) -> None:
    opened = open_page(capacity_page)
    assert HOSTILE in opened.page.locator("nav.subjects").inner_text()
    assert opened.page.evaluate("window.broken") is None
    assert opened.complaints == []


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_a_published_grid_has_a_panel_for_each_concurrency_and_the_published_figure(
    published_grid_page: Path, width: int, open_page: Open
) -> None:
    opened = open_page(published_grid_page, width)
    page = opened.page
    assert page.locator("h1").inner_text().startswith("Go net/http holds 200 requests a second at 175 of 250 points")
    words = page.locator("#chart-grid .drawing:visible svg text").all_text_contents()
    assert [word for word in words if word.endswith("in flight")] == [f"{n} in flight" for n in (20, 40, 60, 80, 100)]
    assert page.locator("#chart-grid .drawing:visible path[fill^='var(--tone-'][aria-label]").count() == 250
    drawing = page.locator("#chart-published-batch-4 .drawing:visible svg")
    assert "200 a second" in drawing.locator("text").all_text_contents()
    assert page.locator("#published tbody tr").count() == 250
    assert opened.complaints == []


def test_paper_has_the_whole_grid(published_grid_page: Path, open_page: Open) -> None:
    page = open_page(published_grid_page, PAPER).page
    page.emulate_media(media="print")
    boxes = [box for text in page.locator("#chart-grid .drawing.wide svg text").all() if (box := text.bounding_box())]
    assert len(boxes) > 250
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PAPER + 1 for box in boxes)
