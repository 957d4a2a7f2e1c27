"""The page of the conformance matrix in a real browser: 45 clients by 150 cases, with transcripts of real length."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from browser.conftest import HOSTILE, PHONE, Open
from doubles.matrices import GROUPS, case_of, cell_of, client_of, large_matrix, matrix_of
from httpdyno.report.conformance import read_matrix, render_matrix

SMALL_PHONE = 360
PAPER = 1046
"""Printable width of A4 across, in pixels."""
MEGABYTE = 1_000_000
ATTACK = f"{HOSTILE}\u2028\u202e\x1b"
SHOWN = f"{HOSTILE}\\u2028\\u202e\\x1b"
LARGE = large_matrix()


def write(folder: Path, matrix: dict[str, Any]) -> Path:
    page = folder / "matrix.html"
    page.write_text(render_matrix(read_matrix(matrix)), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("large-matrix"), LARGE)


@pytest.fixture(scope="module")
def small_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clients and three cases, with every kind of cell: known, unsteady with an unsafe try, and not tried."""
    clients = [client_of(2), client_of(9)]
    cases = [case_of(0), case_of(9), case_of(2, clause="a good practice")]
    cells = [
        cell_of("client-2", "deadlines/case-0", "pass", Random(1)),
        cell_of("client-9", "deadlines/case-0", "fail", Random(1), known="issue 17 of the library"),
        cell_of("client-2", "deadlines/case-9", "unsteady", Random(1), tries=["pass", "unsafe", "pass"]),
        cell_of("client-2", "framing/case-2", "unsupported", Random(1), reported=[], transcript=[]),
        cell_of("client-9", "framing/case-2", "lenient", Random(1)),
    ]
    return write(tmp_path_factory.mktemp("small-matrix"), matrix_of(clients, cases, cells))


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All texts are attacks, also the ids."""
    clients = [
        client_of(place, id=f"{place}{ATTACK}", language=ATTACK, method=ATTACK, version=ATTACK) for place in (0, 1)
    ]
    case = case_of(0, id=ATTACK, title=ATTACK, clause=ATTACK, why=ATTACK, expected=ATTACK, script=[ATTACK])
    texts = {"known": ATTACK, "seen": ATTACK, "reported": [ATTACK], "transcript": [ATTACK]}
    cells = [cell_of(client["id"], ATTACK, "unsafe", Random(1), **texts) for client in clients]
    return write(tmp_path_factory.mktemp("hostile-matrix"), matrix_of(clients, [case], cells))


def outcome_of(client: str, case: str) -> str:
    (found,) = [cell for cell in LARGE["cells"] if (cell["client"], cell["case"]) == (client, case)]
    outcome: str = found["outcome"]
    return outcome


def rows(page: Page) -> list[str]:
    found: list[str] = page.locator("#matrix tr.case:visible").evaluate_all("rows => rows.map(r => r.dataset.case)")
    return found


def columns(page: Page) -> list[str]:
    heads = page.locator("#matrix thead th[data-client]:visible")
    found: list[str] = heads.evaluate_all("heads => heads.map(head => head.dataset.client)")
    return found


def cell(page: Page, case: str, client: str) -> Locator:
    place = page.locator(f"#matrix thead th[data-client='{client}']").evaluate("head => head.cellIndex")
    return page.locator(f"#matrix tr.case[data-case='{case}']").locator(f":scope > :nth-child({place + 1})")


def group_cell(page: Page, group: str, client: str) -> Locator:
    place = page.locator(f"#matrix thead th[data-client='{client}']").evaluate("head => head.cellIndex")
    return page.locator(f"#matrix tr.group[data-group='{group}']").locator(f":scope > :nth-child({place + 1})")


def choose(page: Page, name: str, value: str) -> None:
    page.locator(f"[data-filter={name}]").select_option(value)


def address(page: Page) -> str:
    found: str = page.evaluate("location.hash")
    return found


def opened_panel(page: Page) -> Locator:
    """Wait until the open panel has its evidence."""
    panel = page.locator("#panel")
    panel.locator(".content > *").first.wait_for()
    return panel


def focused(page: Page) -> str:
    """Return the focused cell as ``case or group, client``."""
    found: str = page.evaluate(
        """() => {
          const cell = document.activeElement;
          const row = cell.closest("tr");
          const head = document.querySelector("#matrix thead tr").cells[cell.cellIndex];
          return [row.dataset.case ?? row.dataset.group ?? "head", head.dataset.client ?? ""].join(", ");
        }"""
    )
    return found


# --- what is there at first


def test_the_answer_comes_first_and_the_groups_are_folded(large_page: Path, open_page: Open) -> None:
    opened = open_page(large_page)
    page = opened.page
    unsafe = {(one["case"], one["client"]) for one in LARGE["cells"] if one["outcome"] == "unsafe"}
    clients = {client for _, client in unsafe}
    assert page.locator("h1").inner_text() == (
        f"{len(clients)} of 45 clients were unsafe in at least one of 150 cases."
    )
    listed = page.locator("header a[data-by]").evaluate_all("links => links.map(a => [a.dataset.show, a.dataset.by])")
    assert {tuple(pair) for pair in listed} == unsafe
    assert rows(page) == []
    assert page.locator("#matrix tr.group:visible").count() == len(GROUPS)
    assert len(columns(page)) == 45
    assert page.locator(".tools output").inner_text() == "150 cases, 45 clients"
    assert opened.requests == [large_page.as_uri()]
    assert opened.complaints == []


def test_a_large_matrix_is_a_small_file(large_page: Path) -> None:
    assert large_page.stat().st_size < 5 * MEGABYTE


def test_a_group_counts_what_passes_and_shows_its_worst_outcome(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    for client in ("client-0", "client-7", "client-44"):
        outcomes = [
            one["outcome"] for one in LARGE["cells"] if one["client"] == client and one["case"].startswith("tls/")
        ]
        tried = [outcome for outcome in outcomes if outcome != "unsupported"]
        found = group_cell(page, "tls", client)
        assert found.locator("small").inner_text() == f"{tried.count('pass')}/{len(tried)}"
        order = {
            "unsafe": "!",
            "crash": "C",
            "hang": "H",
            "fail": "F",
            "unsteady": "~",
            "lenient": "L",
            "pass": "\u2713",
        }
        assert found.locator("b").inner_text() == next(mark for name, mark in order.items() if name in outcomes)


def test_a_cell_has_a_symbol_and_not_only_a_colour(small_page: Path, open_page: Open) -> None:
    page = open_page(small_page).page
    page.get_by_role("button", name="Unfold all").click()
    texts = page.locator("#matrix tr.case").evaluate_all(
        "rows => rows.map(r => [...r.cells].slice(1).map(c => c.textContent))"
    )
    assert texts == [["\u2713", "F"], ["~!", ""], ["\u2013", "L"]]
    assert "k" in (cell(page, "deadlines/case-0", "client-9").get_attribute("class") or "").split()
    assert page.locator("h1").inner_text() == "1 of 2 clients was unsafe in at least one of 3 cases."


# --- filters, and the address that keeps them


def test_filters_choose_rows_and_columns(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    choose(page, "language", "Go")
    assert columns(page) == [one["id"] for one in LARGE["clients"] if one["language"] == "Go"]
    choose(page, "group", "tls")
    assert rows(page) == [one["id"] for one in LARGE["cases"] if one["group"] == "tls"]
    choose(page, "level", "must")
    of_level = [one["id"] for one in LARGE["cases"] if one["group"] == "tls" and one["level"] == "must"]
    assert rows(page) == of_level
    outcomes = [outcome_of("client-2", case) for case in of_level]
    tried = [outcome for outcome in outcomes if outcome != "unsupported"]
    # A group counts the rows that are left.
    assert group_cell(page, "tls", "client-2").locator("small").inner_text() == f"{tried.count('pass')}/{len(tried)}"
    page.locator("[data-filter=text]").fill("CERTIFICATE tls/case")
    assert rows(page) == [
        one["id"] for one in LARGE["cases"] if one["id"] in of_level and "certificate" in one["title"]
    ]
    page.locator("[data-filter=text]").fill("nothing has these words")
    assert page.locator(".nothing").is_visible()
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".tools output").inner_text() == "150 cases, 45 clients"
    assert address(page) == ""


def test_an_outcome_leaves_the_rows_and_columns_that_have_it(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    choose(page, "outcome", "unsafe")
    unsafe = [(one["case"], one["client"]) for one in LARGE["cells"] if one["outcome"] == "unsafe"]
    assert set(rows(page)) == {case for case, _ in unsafe}
    assert set(columns(page)) == {client for _, client in unsafe}
    matches = page.locator("#matrix.dimmed td.match:visible")
    assert matches.count() == len(unsafe)
    assert set(matches.all_inner_texts()) == {"!"}


def test_an_unsteady_cell_with_an_unsafe_try_is_found_by_both(small_page: Path, open_page: Open) -> None:
    page = open_page(small_page).page
    for outcome in ("unsafe", "unsteady"):
        choose(page, "outcome", outcome)
        assert (rows(page), columns(page)) == (["deadlines/case-9"], ["client-2"])


def test_one_client_has_words_in_its_cells(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page, PHONE).page
    choose(page, "client", "client-3")
    assert columns(page) == ["client-3"]
    page.get_by_role("button", name="Unfold all").click()
    words = page.locator("#matrix tr.case td:visible").evaluate_all(
        "cells => cells.map(one => getComputedStyle(one, '::after').content)"
    )
    assert words == [f'"{outcome_of("client-3", case)}"' for case in rows(page)]
    # The head of a client chooses it, and gives it back.
    page.locator("#matrix thead th[data-client='client-3']").click()
    assert len(columns(page)) == 45


def test_the_address_keeps_the_view(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    choose(page, "language", "Python")
    choose(page, "level", "should")
    page.locator("[data-filter=text]").fill("RFC 9110")
    # A filter unfolds what it finds; one group is folded again.
    page.locator("#matrix tr.group[data-group=redirects] th").click()
    page.locator("#matrix tr.case td:visible").first.click()
    opened_panel(page)
    seen = (rows(page), columns(page), page.locator("#panel h2").inner_text(), address(page))
    assert seen[0]
    other = open_page(large_page).page
    other.goto(page.url)
    opened_panel(other)
    assert (rows(other), columns(other), other.locator("#panel h2").inner_text(), address(other)) == seen
    other.keyboard.press("Escape")
    assert "show=" not in address(other)
    # An address that changes while the page is open changes the view.
    other.evaluate("location.hash = '#group=dns&open=dns'")
    other.wait_for_function("document.querySelector('[data-filter=group]').value === 'dns'")
    assert rows(other) == [one["id"] for one in LARGE["cases"] if one["group"] == "dns"]


@pytest.mark.parametrize("text", ["100% + a&b=c", "%", "a,b/c", "\u00e9 \u4e2d", "'\"<>`"])
def test_every_text_survives_the_address(small_page: Path, text: str, open_page: Open) -> None:
    page = open_page(small_page).page
    page.locator("[data-filter=text]").fill(text)
    other = open_page(small_page).page
    other.goto(page.url)
    assert other.locator("[data-filter=text]").input_value() == text
    assert address(other) == address(page)


@pytest.mark.parametrize(
    "wrong",
    ["#group=none&language=Cobol&outcome=good", "#show=no/case&by=unknown", "#open=x,y", "#%", "#&&==", "#by=client-2"],
)
def test_an_address_of_another_matrix_is_ignored(small_page: Path, wrong: str, open_page: Open) -> None:
    opened = open_page(small_page)
    opened.page.goto(small_page.as_uri() + wrong)
    opened.page.reload()
    assert opened.page.locator(".tools output").inner_text() == "3 cases, 2 clients"
    assert not opened.page.locator("#panel").is_visible()
    assert address(opened.page) == ""
    assert opened.complaints == []


# --- the keyboard


def test_arrow_keys_move_in_the_grid(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    grid = page.get_by_role("grid", name="Cases by clients")
    assert grid.locator("[tabindex='0']").count() == 1
    page.locator(".tools button").last.focus()
    page.keyboard.press("Tab")
    assert focused(page) == "head, "
    steps = [
        ("ArrowDown", "deadlines, "),
        ("ArrowRight", "deadlines, client-0"),
        ("ArrowDown", "connections, client-0"),
        ("ArrowUp", "deadlines, client-0"),
        ("End", "deadlines, client-44"),
        ("ArrowRight", "deadlines, client-44"),
        ("Home", "deadlines, "),
        ("ArrowLeft", "deadlines, "),
        ("Control+End", "fields, client-44"),
        ("PageUp", "head, client-44"),
        ("PageDown", "fields, client-44"),
        ("Control+Home", "head, "),
    ]
    for key, place in steps:
        page.keyboard.press(key)
        assert focused(page) == place, key
    # Hidden rows and columns are left out.
    choose(page, "language", "Go")
    page.locator("#matrix tr.group th").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert focused(page) == "connections, client-2"
    assert grid.locator("[tabindex='0']").count() == 1


def test_enter_opens_and_escape_returns(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    head = page.locator("#matrix tr.group[data-group=connections] th")
    page.locator(".tools button").last.focus()
    for key in ("Tab", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert head.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-expanded") == "true"
    assert address(page) == "#open=connections"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert focused(page) == "connections/case-1, client-0"
    words = outcome_of("client-0", "connections/case-1")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label == f"C libcurl (multi), a certificate of another name, 1: {words}"
    page.keyboard.press("Enter")
    assert opened_panel(page).get_attribute("open") is not None
    page.keyboard.press("Escape")
    page.locator("#panel").wait_for(state="hidden")
    assert focused(page) == "connections/case-1, client-0"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    assert head.get_attribute("aria-expanded") == "false"
    assert rows(page) == []


def test_the_focused_cell_is_not_below_the_head(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page, SMALL_PHONE).page
    page.get_by_role("button", name="Unfold all").click()
    cell(page, "http2/case-7", "client-40").click()
    opened_panel(page)
    page.keyboard.press("Escape")
    page.locator("#panel").wait_for(state="hidden")
    for key in ("ArrowUp",) * 30 + ("ArrowLeft",) * 20:
        page.keyboard.press(key)
    box, head = (
        page.evaluate(
            f"(({{top, left, right, bottom}}) => ({{top, left, right, bottom}}))({one}.getBoundingClientRect())"
        )
        for one in ("document.activeElement", "document.querySelector('#matrix thead th')")
    )
    assert box["top"] >= head["bottom"] - 1
    assert box["left"] >= head["right"] - 1


# --- the evidence


def test_a_panel_has_all_evidence_of_a_cell(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    page.locator("#matrix tr.group[data-group=tls] th").click()
    failed = next(one for one in LARGE["cells"] if one["outcome"] == "fail" and one["case"].startswith("tls/"))
    (case,) = [one for one in LARGE["cases"] if one["id"] == failed["case"]]
    (client,) = [one for one in LARGE["clients"] if one["id"] == failed["client"]]
    cell(page, case["id"], client["id"]).click()
    panel = opened_panel(page)
    text = panel.inner_text()
    for part in (
        f"{client['language']} {client['method']} {client['version']}, {case['id']}",
        case["title"],
        "tries: fail, fail, fail",
        f"{case['clause']}, {case['level']}",
        case["why"],
        case["expected"],
        failed["seen"],
        failed["reported"][0],
        "read a request\nsend 61 bytes: HTTP/1.1 200 OK",
        failed["transcript"][-1],
        f"httpdyno conform {client['id']} {case['id']} --show",
        LARGE["date"],
        LARGE["httpdyno"],
    ):
        assert part in text
    transcript = panel.locator("pre").nth(2).inner_text()
    assert "".join(transcript.split()) == "".join("".join(failed["transcript"]).split())
    link = panel.get_by_role("link", name=case["clause"])
    if case["clause"].startswith("RFC"):
        assert (link.get_attribute("href") or "").startswith("https://www.rfc-editor.org/rfc/rfc")


def test_a_case_lists_its_clients_and_opens_them(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page).page
    page.locator("header a[data-show]:not([data-by])").first.click()
    panel = opened_panel(page)
    entries = panel.locator(".clients button")
    assert entries.count() == 45
    # The worst come first.
    assert (entries.first.get_attribute("aria-label") or "").endswith(": unsafe")
    entries.first.click()
    panel.get_by_text("tries: unsafe, unsafe, unsafe").wait_for()
    assert "&by=client-" in address(page)
    panel.get_by_role("button", name="All clients of this case").click()
    entries.first.wait_for()
    assert "&by=" not in address(page)
    assert page.evaluate("document.activeElement.textContent") == "Close"
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.dataset.show") is not None


def test_a_known_failure_and_an_untried_case_say_so(small_page: Path, open_page: Open) -> None:
    page = open_page(small_page).page
    page.goto(small_page.as_uri() + "#show=deadlines/case-0&by=client-9")
    assert "issue 17 of the library" in opened_panel(page).inner_text()
    page.evaluate("location.hash = '#show=deadlines/case-9&by=client-9'")
    page.get_by_text("This case was not tried with this client.").wait_for()
    page.evaluate("location.hash = '#show=framing/case-2&by=client-2'")
    panel = page.locator("#panel")
    panel.get_by_text("a good practice, may").wait_for()
    assert panel.locator("a").count() == 0
    assert "What the server saw" not in panel.inner_text()


def test_the_command_is_copied_or_marked(small_page: Path, open_page: Open) -> None:
    page = open_page(small_page, permissions=["clipboard-read", "clipboard-write"]).page
    page.goto(small_page.as_uri() + "#show=deadlines/case-0&by=client-9")
    opened_panel(page).get_by_role("button", name="Copy").click()
    page.locator("#panel .command button:text-matches('Copied|Marked')").wait_for()
    copied = page.evaluate("async () => getSelection().toString() || await navigator.clipboard.readText()")
    assert copied == "httpdyno conform client-9 deadlines/case-0 --show"


def test_a_browser_that_cannot_unpack_shows_what_the_table_has(small_page: Path, open_page: Open) -> None:
    opened = open_page(small_page)
    page = opened.page
    page.add_init_script("delete globalThis.DecompressionStream")
    page.goto(small_page.as_uri() + "#show=deadlines/case-0&by=client-9")
    page.reload()
    text = opened_panel(page).inner_text()
    assert "cannot unpack the evidence" in text
    assert "httpdyno conform client-9 deadlines/case-0 --show" in text
    assert "fail" in text
    assert opened.complaints == []


def test_without_a_script_the_page_is_a_plain_table(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page, java_script_enabled=False).page
    assert page.locator("#matrix tr.case:visible").count() == 150
    assert page.locator(".tools:visible, #panel:visible").count() == 0
    assert page.locator("noscript p").is_visible()
    (first,) = [one for one in LARGE["cells"] if (one["client"], one["case"]) == ("client-1", "deadlines/case-0")]
    assert first["outcome"] == "fail"
    assert page.locator("#matrix tr.case td").nth(1).inner_text() == "F"


# --- light, dark, phone, paper


@pytest.mark.parametrize("width", [SMALL_PHONE, PHONE, 800, 1280, 1920])
def test_only_the_matrix_scrolls_sideways(large_page: Path, hostile_page: Path, width: int, open_page: Open) -> None:
    for path in (large_page, hostile_page):
        page = open_page(path, width).page
        page.get_by_role("button", name="Unfold all").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator("#matrix tr.case th:visible").first.click(position={"x": 10, "y": 5})
        panel = opened_panel(page)
        assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_panel_of_a_phone_is_a_whole_sheet(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page, SMALL_PHONE).page
    page.get_by_role("button", name="Unfold all").click()
    page.locator("#matrix tr.case td").first.click()
    box = opened_panel(page).bounding_box()
    assert box == {"x": 0, "y": 0, "width": SMALL_PHONE, "height": 900}
    page.get_by_role("button", name="Close").click()
    page.locator("#panel").wait_for(state="hidden")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_mark_can_be_read(small_page: Path, colours: str, open_page: Open) -> None:
    page = open_page(small_page, color_scheme=colours).page
    surface = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert surface == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}[colours]
    for code in "ulcnrhfpx":
        ink, fill = page.evaluate(
            """code => {
              const chip = document.createElement("span");
              chip.className = `chip ${code}`;
              document.body.append(chip);
              const style = getComputedStyle(chip);
              return [style.color, style.backgroundColor];
            }""",
            code,
        )
        assert contrast(ink, surface if fill == "rgba(0, 0, 0, 0)" else fill) >= 4.5, code


def contrast(one: str, other: str) -> float:
    """Ratio of two colours, as WCAG 2.2 defines it."""
    light, dark = sorted(map(luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    channels = [int(channel) / 255 for channel in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * channel for share, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_paper_has_every_column(large_page: Path, open_page: Open) -> None:
    page = open_page(large_page, PAPER, color_scheme="dark").page
    page.get_by_role("button", name="Unfold all").click()
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    last = page.locator("#matrix tr.case:visible td:last-child").first.bounding_box()
    assert last is not None
    assert last["x"] + last["width"] <= PAPER
    assert page.locator(".tools:visible").count() == 0
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


# --- attacks


def test_hostile_texts_are_shown_and_run_nothing(hostile_page: Path, open_page: Open) -> None:
    opened = open_page(hostile_page)
    page = opened.page
    assert page.locator("header a[data-by]").first.inner_text() == f"{SHOWN} {SHOWN}"
    assert page.locator(".tools output").inner_text() == "1 case, 2 clients"
    choose(page, "client", f"1{SHOWN}")
    choose(page, "language", SHOWN)
    page.locator("[data-filter=text]").fill("</script>")
    page.locator("#matrix tr.case td:visible").click()
    panel = opened_panel(page)
    assert panel.locator("h2").inner_text() == SHOWN
    assert [pre.inner_text() for pre in panel.locator(".content > pre").all()] == [SHOWN] * 3
    assert panel.locator("dd").all_inner_texts()[:2] == [f"{SHOWN}, must", SHOWN]
    # A shell reads the ids as one word each.
    quoted = SHOWN.replace("'", "'\\''")
    assert panel.locator("code").inner_text() == f"httpdyno conform '1{quoted}' '{quoted}' --show"
    other = open_page(hostile_page)
    other.page.goto(page.url)
    assert opened_panel(other.page).locator("h2").inner_text() == SHOWN
    for one in (opened, other):
        one.settle()
        assert one.page.evaluate("window.broken") is None
        assert one.complaints == []
        assert one.page.locator("img, iframe, object, embed, base, form").count() == 0
        assert one.page.locator("script").count() == 1


def test_the_page_may_load_nothing(small_page: Path, open_page: Open) -> None:
    page = open_page(small_page).page
    with page.expect_console_message(lambda said: "Content Security" in said.text):
        assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')") == "refused"
