"""The reports of load tools, as they really printed them."""

import re
from contextlib import suppress
from pathlib import Path

import pytest

from httpdyno.errors import UnreadableReport
from httpdyno.judge.tool_reports import PARSERS, read_tool_report
from httpdyno.judge.tool_reports.figures import size_bytes, span_ns
from httpdyno.model import REPORT_PARSERS, Count, SubjectKind, ToolLatency, ToolReport
from httpdyno.subjects.definition import read_subject

ROOT = Path(__file__).parents[3]
REPORTS = ROOT / "tests" / "fixtures" / "tool-reports"

EXPECTED = {
    "ab-good": ToolReport(
        requests=300,
        duration_ns=3000000,
        stated_per_s=107411.39,
        non_2xx=0,
        received_bytes=46200,
        latency=ToolLatency(
            mean_ns=93000,
            stdev_ns=0,
            min_ns=0,
            max_ns=0,
            percentiles_ns={50.0: 0, 66.0: 0, 75.0: 0, 80.0: 0, 90.0: 0, 95.0: 0, 98.0: 0, 99.0: 0},
        ),
    ),
    "ab-non-2xx": ToolReport(
        requests=300,
        duration_ns=9000000,
        stated_per_s=32404.41,
        non_2xx=300,
        received_bytes=34800,
        latency=ToolLatency(
            mean_ns=309000,
            stdev_ns=300000,
            min_ns=0,
            max_ns=5000000,
            percentiles_ns={50.0: 0, 66.0: 0, 75.0: 0, 80.0: 0, 90.0: 0, 95.0: 0, 98.0: 1000000, 99.0: 1000000},
        ),
    ),
    "ab-refused": ToolReport(
        requests=0,
        duration_ns=5000000,
        stated_per_s=58218.51,
        errors=(
            Count("receive", 300),
            Count("exceptions", 150),
        ),
        non_2xx=0,
        received_bytes=0,
    ),
    "fortio-good": ToolReport(
        requests=400,
        duration_ns=2001216219,
        stated_per_s=199.8784520144847,
        non_2xx=0,
        received_bytes=52000,
        latency=ToolLatency(
            mean_ns=240797,
            stdev_ns=124525,
            min_ns=36500,
            max_ns=668326,
            percentiles_ns={50.0: 351621, 75.0: 509974, 90.0: 604985, 99.0: 661992, 99.9: 667693},
        ),
    ),
    "fortio-non-2xx": ToolReport(
        requests=400,
        duration_ns=2000902666,
        stated_per_s=199.90977412191623,
        non_2xx=400,
        received_bytes=36800,
        latency=ToolLatency(
            mean_ns=452855,
            stdev_ns=218799,
            min_ns=91857,
            max_ns=1154551,
            percentiles_ns={50.0: 547072, 75.0: 775824, 90.0: 913074, 99.0: 995425, 99.9: 1123641},
        ),
    ),
    "fortio-refused": ToolReport(
        requests=0,
        duration_ns=2001734236,
        stated_per_s=199.82672664844208,
        errors=(Count("no answer", 400),),
        non_2xx=0,
        received_bytes=0,
    ),
    "fortio-timeout": ToolReport(
        requests=0,
        duration_ns=2003125509,
        stated_per_s=9.984396838910206,
        errors=(Count("no answer", 20),),
        non_2xx=0,
        received_bytes=0,
    ),
    "h2load-good": ToolReport(
        requests=139884,
        duration_ns=2000000000,
        stated_per_s=69942.0,
        non_2xx=0,
        received_bytes=18184920,
        latency=ToolLatency(mean_ns=142000, stdev_ns=214000, min_ns=21000, max_ns=7220000),
    ),
    "h2load-non-2xx": ToolReport(
        requests=131211,
        duration_ns=2000000000,
        stated_per_s=65605.5,
        non_2xx=131211,
        received_bytes=12071412,
        latency=ToolLatency(mean_ns=152000, stdev_ns=403000, min_ns=21000, max_ns=29080000),
    ),
    "h2load-refused": ToolReport(requests=0, duration_ns=2000000000, stated_per_s=0.0, non_2xx=0, received_bytes=0),
    "h2load-slow": ToolReport(
        requests=10,
        duration_ns=2000000000,
        stated_per_s=5.0,
        non_2xx=0,
        received_bytes=1300,
        latency=ToolLatency(mean_ns=1500000000, stdev_ns=56000, min_ns=1500000000, max_ns=1500000000),
    ),
    "hey-good": ToolReport(
        requests=109595,
        duration_ns=2001000000,
        stated_per_s=54770.4229,
        non_2xx=0,
        received_bytes=1424735,
        latency=ToolLatency(
            mean_ns=200000,
            min_ns=0,
            max_ns=26600000,
            percentiles_ns={
                10.0: 0,
                25.0: 100000,
                50.0: 100000,
                75.0: 200000,
                90.0: 300000,
                95.0: 400000,
                99.0: 1400000,
            },
        ),
    ),
    "hey-non-2xx": ToolReport(
        requests=52367,
        duration_ns=2000500000,
        stated_per_s=26177.3622,
        non_2xx=52367,
        received_bytes=0,
        latency=ToolLatency(
            mean_ns=400000,
            min_ns=0,
            max_ns=33600000,
            percentiles_ns={
                10.0: 0,
                25.0: 100000,
                50.0: 200000,
                75.0: 300000,
                90.0: 600000,
                95.0: 1100000,
                99.0: 4300000,
            },
        ),
    ),
    "hey-refused": ToolReport(
        requests=0,
        duration_ns=2000300000,
        stated_per_s=64677.245,
        errors=(Count("connection refused", 129377),),
        non_2xx=0,
        received_bytes=0,
    ),
    "hey-timeout": ToolReport(
        requests=0,
        duration_ns=2010600000,
        stated_per_s=9.9471,
        errors=(Count("context deadline exceeded (Client.Timeout exceeded while awaiting headers)", 20),),
        non_2xx=0,
        received_bytes=0,
    ),
    "httperf-good": ToolReport(
        requests=200, duration_ns=996000000, non_2xx=0, received_bytes=26000, latency=ToolLatency(mean_ns=200000)
    ),
    "httperf-non-2xx": ToolReport(
        requests=200, duration_ns=996000000, non_2xx=200, received_bytes=18400, latency=ToolLatency(mean_ns=100000)
    ),
    "httperf-refused": ToolReport(
        requests=0, duration_ns=996000000, errors=(Count("connrefused", 200),), non_2xx=0, received_bytes=0
    ),
    "httperf-timeout": ToolReport(
        requests=0, duration_ns=1997000000, errors=(Count("client-timo", 200),), non_2xx=0, received_bytes=0
    ),
    "k6-good": ToolReport(
        requests=51018,
        duration_ns=2001080347,
        stated_per_s=25495.228153375094,
        non_2xx=0,
        received_bytes=6632340,
        latency=ToolLatency(
            mean_ns=351894,
            min_ns=24912,
            max_ns=6218436,
            percentiles_ns={50.0: 270553, 75.0: 409002, 90.0: 612620, 95.0: 887539, 99.0: 2065689, 99.9: 3791750},
        ),
    ),
    "k6-non-2xx": ToolReport(
        requests=45974,
        duration_ns=2007087297,
        stated_per_s=22905.82979062121,
        non_2xx=45974,
        received_bytes=4229608,
        latency=ToolLatency(
            mean_ns=392971,
            min_ns=20235,
            max_ns=25232165,
            percentiles_ns={50.0: 296664, 75.0: 451516, 90.0: 679389, 95.0: 981256, 99.0: 2372602, 99.9: 5039137},
        ),
    ),
    "k6-refused": ToolReport(
        requests=0,
        duration_ns=2002808461,
        stated_per_s=8481.58989278406,
        errors=(Count("tcp", 16987),),
        non_2xx=0,
        received_bytes=0,
    ),
    "k6-timeout": ToolReport(
        requests=0,
        duration_ns=2020191085,
        stated_per_s=9.90005358824757,
        errors=(Count("timeout", 20),),
        non_2xx=0,
        received_bytes=0,
    ),
    "oha-good": ToolReport(
        requests=148861,
        duration_ns=2002869457,
        stated_per_s=74328.85826866947,
        non_2xx=0,
        received_bytes=1935193,
        latency=ToolLatency(
            mean_ns=133160,
            min_ns=15954,
            max_ns=42535135,
            percentiles_ns={
                10.0: 63264,
                25.0: 88331,
                50.0: 108071,
                75.0: 141651,
                90.0: 195341,
                95.0: 225556,
                99.0: 512884,
                99.9: 2473085,
                99.99: 11216277,
            },
        ),
    ),
    "oha-non-2xx": ToolReport(
        requests=188551,
        duration_ns=2003552739,
        stated_per_s=94111.82262869299,
        non_2xx=188551,
        received_bytes=0,
        latency=ToolLatency(
            mean_ns=104855,
            min_ns=15233,
            max_ns=6885830,
            percentiles_ns={
                10.0: 66969,
                25.0: 82403,
                50.0: 95593,
                75.0: 110755,
                90.0: 134491,
                95.0: 158085,
                99.0: 275451,
                99.9: 1489940,
                99.99: 4363011,
            },
        ),
    ),
    "oha-refused": ToolReport(
        requests=0,
        duration_ns=2017215437,
        stated_per_s=119599.02525770727,
        errors=(Count("Connection refused (os error 111)", 241251),),
        non_2xx=0,
        received_bytes=0,
    ),
    "oha-timeout": ToolReport(
        requests=0,
        duration_ns=2002782272,
        stated_per_s=9.986107965709015,
        errors=(Count("timeout", 12),),
        non_2xx=0,
        received_bytes=0,
    ),
    "rewrk-good": ToolReport(
        requests=212541,
        duration_ns=2000498880,
        stated_per_s=106243.99849701491,
        received_bytes=27630330,
        latency=ToolLatency(mean_ns=93769, stdev_ns=144217, min_ns=17106, max_ns=8305966),
    ),
    "rewrk-non-2xx": ToolReport(
        requests=175304,
        duration_ns=2000624577,
        stated_per_s=87624.63583391238,
        received_bytes=16127968,
        latency=ToolLatency(mean_ns=113792, stdev_ns=235225, min_ns=16384, max_ns=9113459),
    ),
    "rewrk-timeout": ToolReport(
        requests=10,
        duration_ns=2000997576,
        stated_per_s=4.997507303327188,
        received_bytes=1300,
        latency=ToolLatency(mean_ns=1500781413, stdev_ns=40432, min_ns=1500727283, max_ns=1500861473),
    ),
    "wrk-good": ToolReport(
        requests=229506,
        duration_ns=2000000000,
        stated_per_s=114603.5,
        non_2xx=0,
        received_bytes=29831987,
        latency=ToolLatency(
            mean_ns=473860,
            stdev_ns=1060000,
            max_ns=11970000,
            percentiles_ns={50.0: 36000, 75.0: 122000, 90.0: 1900000, 99.0: 4570000},
        ),
    ),
    "wrk-large": ToolReport(
        requests=1387,
        duration_ns=1010000000,
        stated_per_s=1377.92,
        non_2xx=0,
        received_bytes=2770253906,
        latency=ToolLatency(
            mean_ns=2450000,
            stdev_ns=1130000,
            max_ns=8140000,
            percentiles_ns={50.0: 2380000, 75.0: 3030000, 90.0: 3410000, 99.0: 6780000},
        ),
    ),
    "wrk-non-2xx": ToolReport(
        requests=160455,
        duration_ns=2020000000,
        stated_per_s=79420.59,
        non_2xx=160455,
        received_bytes=14763950,
        latency=ToolLatency(
            mean_ns=541620,
            stdev_ns=1190000,
            max_ns=12330000,
            percentiles_ns={50.0: 99000, 75.0: 218000, 90.0: 1830000, 99.0: 5840000},
        ),
    ),
    "wrk-timeout": ToolReport(
        requests=10,
        duration_ns=2000000000,
        stated_per_s=4.99,
        errors=(Count("timeout", 10),),
        non_2xx=0,
        received_bytes=1300,
    ),
}
UNREADABLE = {
    "ab-timeout": "the report of ab cannot be read: there is no line 'Complete requests'",
    "h2load-aborted": "the report of h2load cannot be read: there is no line 'finished in'",
    "rewrk-refused": "the report of rewrk cannot be read: it is empty",
    "wrk-refused": "the report of wrk cannot be read: it is empty",
}
FILES = sorted(path.stem for path in REPORTS.glob("*.txt"))


def text_of(name: str) -> str:
    return (REPORTS / f"{name}.txt").read_text(encoding="utf-8")


def tool_of(name: str) -> str:
    return name.split("-")[0]


def test_every_report_kept_is_expected_to_be_something() -> None:
    assert sorted([*EXPECTED, *UNREADABLE]) == FILES
    assert {tool_of(name) for name in EXPECTED} == set(REPORT_PARSERS) == set(PARSERS)


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
    for length in range(0, len(text), 7):
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
    assert (subject.kind, subject.report_parser) == (SubjectKind.TOOL, tool)
    contract = (ROOT / "subjects" / "CONTRACT.md").read_text(encoding="utf-8")
    places = {place for part in subject.run_argv for place in re.findall(r"\{\w+\}", part)}
    named = set(re.findall(r"\{\w+\}", contract.partition("## Tool")[2].partition("##")[0])) | {"{folder}"}
    assert places <= named
