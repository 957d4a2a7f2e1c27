"""The page of a run in a real browser: on a screen, in the dark, on a phone, on paper, and under attack."""

from pathlib import Path

import pytest

from browser.conftest import HOSTILE, LONG, PAPER, PHONE, Open

PAGES = ("plain_page", "hostile_page", "crowded_page", "empty_page", "load_page", "failed_load_page")
MEGABYTE = 1_000_000


@pytest.fixture(params=PAGES)
def any_page(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def test_nothing_is_loaded_and_nothing_is_complained_of(any_page: Path, open_page: Open) -> None:
    opened = open_page(any_page)
    assert opened.requests == [any_page.as_uri()]
    assert opened.complaints == []
    assert opened.page.locator("h1").inner_text()


def test_a_page_is_small(any_page: Path) -> None:
    assert any_page.stat().st_size < 3 * MEGABYTE


@pytest.mark.parametrize("width", [PHONE, 800, 1280, 1920])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_page_is_wider_than_its_window(any_page: Path, width: int, colours: str, open_page: Open) -> None:
    page = open_page(any_page, width, color_scheme=colours).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_may_load_nothing_and_run_nothing_else(plain_page: Path, open_page: Open) -> None:
    page = open_page(plain_page).page
    with page.expect_console_message(
        lambda said: "Connecting to 'http://127.0.0.1:9/' violates the following Content Security" in said.text
    ):
        assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')") == "refused"
    with page.expect_console_message(
        lambda said: "Executing inline script violates the following Content Security Policy directive" in said.text
    ):
        page.evaluate(
            "const script = document.createElement('script'); script.textContent = 'window.broken = 1';"
            "document.body.append(script)"
        )
    assert page.evaluate("window.broken") is None


# --- tables


def column(opened_page: object, table: str, place: int) -> list[str]:
    cells = opened_page.locator(f"#{table} tbody tr:visible td:nth-child({place})")  # type: ignore[attr-defined]
    texts: list[str] = cells.all_inner_texts()
    return [text.strip() for text in texts]


def test_a_table_is_sorted_by_the_heading_that_is_chosen(plain_page: Path, open_page: Open) -> None:
    page = open_page(plain_page).page
    heading = page.locator("#figures th", has_text="p50")
    place = page.locator("#figures th").all_inner_texts().index("p50 ms") + 1
    heading.get_by_role("button").click()
    assert column(page, "figures", place) == ["1", "2", "3", "4", ""]
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.get_by_role("button").click()
    # Unknown values stay last.
    assert column(page, "figures", place) == ["4", "3", "2", "1", ""]
    assert heading.get_attribute("aria-sort") == "descending"
    page.locator("#figures th", has_text="method").get_by_role("button").press("Enter")
    assert column(page, "figures", 2) == ["client0", "client1", "client2", "client3", "gone"]
    assert heading.get_attribute("aria-sort") == "none"


def test_numbers_are_sorted_as_numbers(crowded_page: Path, open_page: Open) -> None:
    page = open_page(crowded_page).page
    page.locator("#trials th", has_text="trial").first.get_by_role("button").click()
    assert column(page, "trials", 1) == [str(number) for number in range(91)]
    page.locator("#figures th", has_text="method").get_by_role("button").click()
    assert column(page, "figures", 2) == [f"a-library-{number}" for number in range(13)]


def test_a_table_is_filtered_by_every_word_that_is_typed(plain_page: Path, open_page: Open) -> None:
    page = open_page(plain_page).page
    box = page.locator("[data-filters=trials]")
    rows = page.locator("#trials tbody tr:visible")
    assert rows.count() == 21
    box.fill("client2 VALID")
    assert rows.count() == 5
    assert page.locator("[data-counts=trials]").inner_text() == "5 of 21 rows"
    box.fill("needs go")
    assert column(page, "trials", 3) == ["C gone"]
    box.fill("")
    assert rows.count() == 21
    assert page.locator("[data-counts=trials]").inner_text() == "21 rows"
    # Filters of one table leave the others alone.
    assert page.locator("#figures tbody tr:visible").count() == 5


def test_a_number_beyond_its_limit_is_marked(hostile_page: Path, open_page: Open) -> None:
    page = open_page(hostile_page).page
    place = page.locator("#trials th").all_inner_texts().index("wrong_answers\n\u2264 0.5 %") + 1
    cells = page.locator(f"#trials td:nth-child({place})")
    assert cells.all_inner_texts() == ["0"] * 6 + ["10"]
    assert cells.locator(".doubtful").all_inner_texts() == ["10"]


# --- charts


def test_a_mark_says_what_it_is(plain_page: Path, open_page: Open) -> None:
    opened = open_page(plain_page)
    page = opened.page
    tip = page.locator(".tip")
    assert not tip.is_visible()
    drawing = page.locator("#chart-verdicts .drawing.wide")
    opened.show(drawing)
    drawing.locator("[aria-roledescription=bar]").first.hover()
    assert opened.tip("Go client0").inner_text() == "Go client0, right: 450 of 500, 90 %"
    page.locator("h1").hover()
    tip.wait_for(state="hidden")


def test_points_of_a_line_are_found_by_the_pointer(plain_page: Path, open_page: Open) -> None:
    opened = open_page(plain_page)
    page = opened.page
    drawing = page.locator("#chart-percentiles .drawing.wide")
    opened.show(drawing)
    box = drawing.locator("[aria-roledescription=point]").nth(5).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2 + 3, box["y"] + box["height"] / 2 + 3)
    assert opened.tip("percentile of URLs").inner_text().startswith("Go client0, percentile of URLs ")


def test_a_subject_is_singled_out_in_every_chart_and_table(plain_page: Path, open_page: Open) -> None:
    opened = open_page(plain_page)
    page = opened.page
    button = page.get_by_role("button", name="Go client1")
    button.click()
    page.mouse.move(0, 0)
    page.wait_for_selector("button[aria-pressed=true]")
    opened.settle()
    assert button.get_attribute("aria-pressed") == "true"
    opacity = "element => getComputedStyle(element).opacity"
    for chart in ("ranking", "throughput", "percentiles", "cpu"):
        marks = page.locator(f"#chart-{chart} .drawing.wide")
        own = marks.locator("path:is([stroke='var(--series-1)'], [fill='var(--series-1)']):not([opacity])")
        others = marks.locator("path:is([stroke='var(--series-0)'], [fill='var(--series-0)']):not([opacity='0'])")
        assert float(others.first.evaluate(opacity)) < 0.3
        assert all(float(mark.evaluate(opacity)) == 1 for mark in own.all())
    assert float(page.locator("#figures tr[data-subject='0']").evaluate(opacity)) < 0.3
    assert float(page.locator("#figures tr[data-subject='1']").evaluate(opacity)) == 1
    button.click()
    page.mouse.move(0, 0)
    page.wait_for_selector(":root:not([data-only])", state="attached")
    opened.settle()
    assert float(page.locator("#figures tr[data-subject='0']").evaluate(opacity)) == 1


def test_a_subject_has_one_colour_in_the_legend_and_in_its_charts(plain_page: Path, open_page: Open) -> None:
    page = open_page(plain_page).page
    for place in range(4):
        swatch = page.locator(f"nav [data-singles='{place}'] .swatch")
        colour = swatch.evaluate("element => getComputedStyle(element).backgroundColor")
        line = page.locator(f"#chart-percentiles .drawing.wide path[stroke='var(--series-{place})']").first
        assert line.evaluate("element => getComputedStyle(element).stroke") == colour


# --- light, dark, phone, paper


def test_the_dark_scheme_is_dark_in_page_and_charts(plain_page: Path, open_page: Open) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        page = open_page(plain_page, color_scheme=scheme).page
        seen[scheme] = (
            page.evaluate("getComputedStyle(document.documentElement).backgroundColor"),
            page.locator("h1").evaluate("element => getComputedStyle(element).color"),
            page.locator("#chart-ranking .wide svg > rect").evaluate("element => getComputedStyle(element).fill"),
            page.locator("#chart-ranking .wide svg text").first.evaluate("element => getComputedStyle(element).fill"),
        )
    assert seen["light"][0] == seen["light"][2] == "rgb(255, 255, 255)"
    assert seen["dark"][0] == seen["dark"][2] == "rgb(20, 22, 26)"
    assert seen["light"][1:4:2] == ("rgb(27, 30, 35)", "rgb(100, 107, 117)")
    assert seen["dark"][1:4:2] == ("rgb(232, 234, 237)", "rgb(154, 162, 173)")


def test_a_phone_has_drawings_of_its_own_with_words_that_can_be_read(plain_page: Path, open_page: Open) -> None:
    page = open_page(plain_page, PHONE).page
    assert page.locator(".drawing.narrow:visible").count() == page.locator("figure").count()
    assert page.locator(".drawing.wide:visible").count() == 0
    sizes = page.locator(".drawing.narrow svg").evaluate_all(
        "drawings => drawings.map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
    )
    # The words are 12 pixels high: a little smaller is fine, half as large is not.
    assert all(0.9 <= size <= 1.3 for size in sizes)


def test_paper_shows_everything_in_light_colours_and_nothing_to_click(plain_page: Path, open_page: Open) -> None:
    page = open_page(plain_page, PAPER, color_scheme="dark").page
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".tools:visible, .command button:visible").count() == 0
    # The wide table is turned: a line for each column, a column for each subject.
    assert not page.locator("#figures").is_visible()
    turned = page.locator(".turned")
    assert turned.locator("tr").count() == page.locator("#figures thead th").count()
    assert turned.locator("tr", has_text="right/s").first.locator("td").count() == 5
    assert page.locator(".drawing.wide:visible").count() == page.locator("figure").count()


def test_paper_is_wide_enough_for_every_page(any_page: Path, open_page: Open) -> None:
    page = open_page(any_page, PAPER).page
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    # Words of a table are not broken for lack of space.
    heights = page.locator("#trials tbody tr, #rules tbody tr").evaluate_all(
        "rows => rows.map(row => row.clientHeight)"
    )
    assert all(height < 150 for height in heights)


def test_a_page_can_be_printed(any_page: Path, open_page: Open) -> None:
    assert open_page(any_page).page.pdf(format="A4").startswith(b"%PDF")


# --- attacks


def test_what_subjects_say_is_text_and_runs_nothing(hostile_page: Path, open_page: Open) -> None:
    opened = open_page(hostile_page)
    page = opened.page
    opened.settle()
    assert page.evaluate("window.broken") is None
    assert opened.complaints == []
    assert page.locator("img, iframe, object, embed, base, form").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator("style").count() == 1
    assert page.evaluate("document.querySelectorAll('svg foreignObject, svg a, svg script').length") == 0
    handlers = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on'))"
    assert page.evaluate(handlers) == []


def test_what_subjects_say_is_shown_as_they_said_it(hostile_page: Path, open_page: Open) -> None:
    page = open_page(hostile_page).page
    assert HOSTILE in page.locator("nav button").all_inner_texts()[0] + page.locator("nav button").all_inner_texts()[1]
    assert HOSTILE in page.locator("#errors").inner_text()
    assert HOSTILE in page.locator("#trials").inner_text()
    # A shell would need quotes; the text itself is complete.
    assert "<img src=x onerror=" in page.locator(".command code").inner_text()
    assert LONG in page.locator(".command code").inner_text()
    texts = page.locator("#chart-statuses .wide svg text").all_text_contents()
    assert any(text.startswith("Go </script></style>") for text in texts)


def test_a_tip_shows_markup_as_text(hostile_page: Path, open_page: Open) -> None:
    opened = open_page(hostile_page)
    page = opened.page
    drawing = page.locator("#chart-verdicts .drawing.wide")
    opened.show(drawing)
    hostile = [
        bar
        for bar in drawing.locator("[aria-roledescription=bar]").all()
        if HOSTILE in (bar.get_attribute("aria-label") or "")
    ]
    hostile[0].hover()
    assert HOSTILE in opened.tip("{{7*7}}").inner_text()
    assert page.locator(".tip *").count() == 0


# --- runs that are not whole


def test_a_run_without_a_trial_has_a_page_that_says_so(empty_page: Path, open_page: Open) -> None:
    page = open_page(empty_page).page
    assert page.locator("h1").inner_text() == "Nothing was measured: the run has no finished trial."
    assert page.locator(".reservation").inner_text() == "not whole: 0 of 4 trials"
    assert page.locator("figure").count() == 0
    assert page.locator(".command code").inner_text() == "httpdyno bench"
