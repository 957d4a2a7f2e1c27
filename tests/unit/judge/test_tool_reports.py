"""Real reports of load tools."""

import re
from contextlib import suppress
from pathlib import Path

import pytest

from doubles.reports_in_json import IN_JSON
from doubles.reports_in_text import IN_TEXT
from httpdyno.errors import UnreadableReport
from httpdyno.judge.tool_reports import read_tool_report
from httpdyno.judge.tool_reports.figures import size_bytes, span_ns
from httpdyno.model import REPORT_PARSERS, WITHOUT_P99, Count, SubjectKind, ToolReport
from httpdyno.subjects.catalogue import read_subject

ROOT = Path(__file__).parents[3]
REPORTS = ROOT / "tests" / "fixtures" / "tool-reports"

EXPECTED = IN_JSON | IN_TEXT
UNREADABLE = {
    "ab-timeout": "the report of ab cannot be read: it has no line 'Complete requests'",
    "h2load-aborted": "the report of h2load cannot be read: it has no line 'finished in'",
    "rewrk-refused": "the report of rewrk cannot be read: it is empty",
    "wrk-refused": "the report of wrk cannot be read: it is empty",
}
FILES = sorted(path.stem for path in REPORTS.glob("*.txt"))


def text_of(name: str) -> str:
    return (REPORTS / f"{name}.txt").read_text(encoding="utf-8")


def tool_of(name: str) -> str:
    return max((parser for parser in REPORT_PARSERS if name.startswith(f"{parser}-")), key=len)


def test_every_report_kept_is_expected_to_be_something() -> None:
    assert sorted([*EXPECTED, *UNREADABLE]) == FILES
    assert {tool_of(name) for name in EXPECTED} == set(REPORT_PARSERS)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_report_is_read(name: str) -> None:
    assert read_tool_report(tool_of(name), text_of(name)) == EXPECTED[name]


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_report_without_figures_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(UnreadableReport) as caught:
        read_tool_report(tool_of(name), text_of(name))
    assert str(caught.value) == UNREADABLE[name]


@pytest.mark.parametrize("name", FILES)
def test_a_report_that_ends_early_is_read_or_refused(name: str) -> None:
    text = text_of(name)
    for length in range(0, len(text), 23):
        # Any other error would escape.
        with suppress(UnreadableReport):
            assert read_tool_report(tool_of(name), text[:length]).duration_ns >= 0


@pytest.mark.parametrize("parser", REPORT_PARSERS)
@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"metrics": 1, "summary": {"total": "x"}}', "command not found"]
)
def test_what_is_no_report_is_refused(parser: str, text: str) -> None:
    with pytest.raises(UnreadableReport, match=f"the report of {parser} cannot be read: "):
        read_tool_report(parser, text)


def test_answers_a_second_are_counted_alike_whatever_a_tool_states() -> None:
    # hey counts the 129,377 requests that were refused.
    report = read_tool_report("hey", text_of("hey-refused"))
    assert (report.requests_per_s, report.stated_per_s) == (0, 64677.2450)
    good = read_tool_report("wrk", text_of("wrk-good"))
    assert good.requests_per_s == pytest.approx(good.stated_per_s, rel=0.01)
    assert ToolReport(requests=0, duration_ns=0).requests_per_s is None


def test_what_rewrk_calls_a_percentile_is_kept_apart_from_percentiles() -> None:
    latency = read_tool_report("rewrk", text_of("rewrk-table")).latency
    assert latency is not None
    assert (latency.percentiles_ns, latency.slowest_means_ns[5.0]) == ({}, 2830000)


def test_which_tools_print_a_p99_is_known() -> None:
    latencies = [(tool_of(name), report.latency) for name, report in EXPECTED.items()]
    printed = {tool for tool, latency in latencies if latency and 99.0 in latency.percentiles_ns}
    assert printed == set(REPORT_PARSERS) - WITHOUT_P99


def test_errors_of_rewrk_stand_in_its_text() -> None:
    text = text_of("rewrk-table-slow") + "3 Errors: connection closed\n"
    assert read_tool_report("rewrk", text).errors == (Count("connection closed", 3),)


def test_errors_add_up() -> None:
    assert read_tool_report("ab", text_of("ab-refused")).error_count == 450


@pytest.mark.parametrize(
    ("text", "span"), [("12us", 12_000), ("1.50ms", 1_500_000), ("2.00s", 2 * 10**9), ("1.5m", 90 * 10**9)]
)
def test_spans_of_every_unit_are_read(text: str, span: int) -> None:
    assert span_ns(text) == span


@pytest.mark.parametrize(("text", "size"), [("648B", 648), ("1.5KB", 1536), ("2MB", 2 << 20), ("2.5GB", 5 << 29)])
def test_sizes_of_every_unit_are_read(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("tool", sorted(path.name for path in (ROOT / "subjects" / "tools").iterdir()))
def test_our_tools_use_places_that_the_contract_names(tool: str) -> None:
    subject = read_subject(ROOT / "subjects" / "tools" / tool)
    if subject.unavailable:
        assert (subject.run_argv, subject.report_parser) == ((), "")
        return
    assert (subject.kind, subject.report_parser) == (SubjectKind.TOOL, tool)
    contract = (ROOT / "subjects" / "CONTRACT.md").read_text(encoding="utf-8")
    places = {place for part in subject.run_argv for place in re.findall(r"\{\w+\}", part)}
    named = set(re.findall(r"\{\w+\}", contract.partition("## Tool")[2].partition("##")[0])) | {"{folder}", "{engine}"}
    assert places <= named
