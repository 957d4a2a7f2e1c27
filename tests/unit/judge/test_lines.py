"""Output of clients as the engine reads it, compared with a slow reader of the contract; and lines of timed calls."""

import json
import re
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles.printed import lines_of
from httpdyno.errors import EngineFailed, UnreadableReport
from httpdyno.judge import read_lines
from httpdyno.judge.lines import LINE_COLUMNS, read_harness_line

TIME = "2024-10-21T12:00:00.000Z"
NOON = 1729512000 * 10**9
LONGEST_LINE = 64 * 1024
GOOD = f"https://a.example,200,{TIME},12,3\n"

Row = tuple[int, str, str, int | None, int, int, int, int | None]


def test_results_are_typed_and_the_first_garbage_is_kept() -> None:
    lines = lines_of(f'{GOOD}no\n\n"x, y",no route, to host,{TIME},1.5,\n' + "".join(f"line {n}\n" for n in range(9)))
    assert lines.frame.rows() == [
        (1, "https://a.example", "200", 200, NOON, 10**6, 12_000_000, 3),
        (4, '"x, y",no route', "to host", None, NOON, 10**6, 1_500_000, None),
    ]
    assert dict(lines.frame.schema) == LINE_COLUMNS
    assert (lines.garbage, lines.garbage_examples) == (10, ("no", "line 0", "line 1"))


def test_nothing_printed_is_no_line() -> None:
    lines = lines_of("")
    assert (len(lines.frame), lines.garbage, lines.garbage_examples) == (0, 0, ())
    assert dict(lines.frame.schema) == LINE_COLUMNS


def test_the_last_line_of_a_killed_client_is_left_out_unless_it_ended() -> None:
    output = f"{GOOD}https://b.example,200,{TIME},12,3"
    assert len(lines_of(output).frame) == 2
    assert lines_of(output, killed=True).frame["url"].to_list() == ["https://a.example"]
    assert len(lines_of(output + "\n", killed=True).frame) == 2


@pytest.mark.parametrize("answer", [b"\x00\xff", b"no,such,columns\n1,2,3\n"])
def test_an_answer_that_is_none_is_one_clear_line(answer: bytes) -> None:
    with pytest.raises(EngineFailed, match="the engine's lines cannot be read"):
        read_lines(BytesIO(answer))


SPACES = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space in Unicode; Python also includes some control characters."""
FORM = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?:(:\d\d)(?:\.(\d+)(?![\d.]))?|(?=[Zz+\[ -]|$))(.*)", re.ASCII | re.DOTALL
)
ZONE = re.compile(rf"[{SPACES}]?([+-])([01]\d|2[0-3])(?::?([0-5]\d))?", re.ASCII)


def slow_start(text: str) -> tuple[int, int] | None:
    """Read a start time: nanoseconds, and the precision of the last digit."""
    form = FORM.fullmatch(text)
    if form is None:
        return None
    day, minute, second, fraction, zone = form.groups()
    leap = timedelta(seconds=second == ":60")
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}{':59' if leap else second or ':00'}+00:00") + leap
    except ValueError:
        return None
    zone = re.sub(rf"[{SPACES}]?\[[A-Za-z0-9_+/:.-]*\]$", "", zone)
    offset = ZONE.fullmatch(zone)
    if not 1970 <= int(day[:4]) < 2200 or not (offset or zone.lstrip(" ").lower() in {"", "z", "utc"}):
        return None
    ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0)) if offset else timedelta()
    moment += ahead if offset and offset[1] == "-" else -ahead
    digits = (fraction or "")[:9]
    whole = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1) * 10**9
    return whole + int(digits.ljust(9, "0")), 10 ** (9 - len(digits))


def slow_row(number: int, line: str) -> Row | None:
    """Read one line."""
    fields = [field.strip(SPACES) for field in line.rsplit(",", 4)]
    if len(fields) < 5 or len(line.encode()) > LONGEST_LINE:
        return None
    url, code, start, duration, length = fields
    status = int(code) if re.fullmatch(r"[1-5]\d\d", code, re.ASCII) else None
    began = slow_start(start)
    whole = int(length) if re.fullmatch(r"[+-]?\d+", length, re.ASCII) else None
    if whole is not None and not -(2**63) <= whole < 2**63:
        whole = None
    is_number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", duration, re.ASCII)
    if not (url and code and began and is_number and 0 <= float(duration) <= 1e12):
        return None
    if status is not None and whole is None and length:
        return None
    known = whole if whole is not None and whole >= 0 else None
    return number, url, code, status, *began, round(float(duration) * 1e6), known


PIECES = [
    b",",
    b",,",
    b"https://a.example",
    b"200",
    TIME.encode(),
    f",200,{TIME},12.5,".encode(),
    f"https://a.example/x,y,200,{TIME},1,2".encode(),
    GOOD.encode(),
    f"https://a.example,Some error,{TIME},1,\n".encode(),
    b" ",
    b"\t",
    b"\r",
    b"\r\r\n",
    b"\n",
    b"\n\n",
    b'"',
    b'""",',
    b"#",
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    "\ufeff".encode(),
    "\u00a0é\u3000".encode(),
    b"null",
    b"-1",
    b"+3",
    b"1e3",
]
ANY = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=25).map(b"".join)
DATES = st.dates(datetime(1969, 12, 31).date(), datetime(2200, 1, 2).date()).map(str)
ZONES = [
    "",
    "Z",
    "z",
    " UTC",
    "  utc",
    "+02:00",
    "-0330",
    "+02",
    "+1",
    "+25:00",
    "+02:60",
    " +02",
    "  +02",
    " EST",
    "+0é",
]
NAMED = ["\u3000+02", "\x1c+02", "[UTC]", "Z[]", "+02:00[Europe/Berlin]", " [a b]", "\u00a0Z", "[a][b]"]
STARTS = st.tuples(
    st.sampled_from(["2024-10-21", "2023-02-29", "2024-02-29", "2024-13-01", "+2024-10-2", "é024-10-21"]) | DATES,
    st.sampled_from("Tt _"),
    st.sampled_from(["12:34", "23:59", "24:00", "12:60", "1x:00", "12.00"]),
    st.sampled_from(["", ":00", ":59", ":60", ":61", ":5", ":5x"]),
    st.sampled_from(["", ".5", ".123", ".123456", ".123456789", ".1234567891", ".", ".1.2", ".x", ",5", ".\u0663"]),
    st.sampled_from(ZONES + NAMED),
).map("".join)
CODES = st.sampled_from(["200", "404", "099", "600", "+20", "2000", " 200\t", "Reset", "no, route", "", "\u0662" * 3])
DURATIONS = st.sampled_from(
    ["12.345", "5000", "0", "-0", "1e3", "1E-7", ".5", "5.", "+1", "0.0000005", "0.0000015", "1e12"]
)
NO_DURATIONS = st.sampled_from(["", "-1", "NaN", "inf", "1e300", "1_0", ".", "1e", "1000000000000.0002", "\u0661"])
LENGTHS = st.sampled_from(
    ["678", "0", "", "-1", "+3", "many", "3.5", "undefined", str(2**63 - 1), str(2**63), "\u0661"]
)
URLS = st.sampled_from(["https://a.example", "https://a.example/?x=1,2", " u ", '"u"', "\ufeffu", "u\rv", "", "\x1cu"])
LINE = st.tuples(
    URLS,
    st.just("200") | CODES,
    st.just(TIME) | STARTS,
    st.just("1.5") | DURATIONS | NO_DURATIONS,
    st.just("7") | LENGTHS,
).map(",".join)
LINES = st.lists(LINE, max_size=8).map("\n".join).map(str.encode)


@given(ANY | LINES, st.booleans())
@settings(max_examples=300)
def test_lines_of_any_bytes_are_read_as_the_contract_requires(output: bytes, killed: bool) -> None:
    whole = output[: output.rfind(b"\n") + 1] if killed else output
    text = [line.rstrip("\r") for line in whole.decode("utf-8", "replace").split("\n")]
    rows = {number: slow_row(number, line) for number, line in enumerate(text, 1) if line}
    garbage = [text[number - 1][:120] for number, row in rows.items() if row is None]
    lines = lines_of(output, killed=killed)
    assert lines.frame.rows() == [row for row in rows.values() if row]
    assert (lines.garbage, lines.garbage_examples) == (len(garbage), tuple(garbage[:3]))


WHOLE: dict[str, Any] = {
    "outcome": "ok",
    "loops": 20,
    "calls_per_loop": 5,
    "runs_ns": [200_000_000, 220_000_000] + [210_000_000] * 5,
    "cpu_user_ns": [50_000_000] * 7,
    "cpu_system_ns": [10_000_000] * 7,
    "answers": [{"code": "200", "body_length": 13, "calls": 900}, {"code": "404", "body_length": 0, "calls": 100}],
}
STOPPED = WHOLE | {
    "outcome": "ECONNREFUSED",
    "loops": None,
    "runs_ns": [],
    "cpu_user_ns": [],
    "cpu_system_ns": [],
    "answers": [{"code": "ECONNREFUSED", "body_length": 0, "calls": 5}],
}


def line(**changed: object) -> str:
    return json.dumps(WHOLE | changed) + "\n"


def test_a_whole_line_is_read() -> None:
    timed = read_harness_line(line())
    assert timed.is_ok
    assert (timed.calls, timed.loops, timed.calls_per_loop) == (1000, 20, 5)
    assert timed.per_loop_ns[:2] == (10_000_000, 11_000_000)
    assert timed.cpu_per_call_ns == (600_000,) * 7
    assert [(answer.code, answer.calls) for answer in timed.answers] == [("200", 900), ("404", 100)]


def test_one_that_was_ended_by_an_error_has_what_came_before() -> None:
    timed = read_harness_line(json.dumps(STOPPED))
    assert (timed.is_ok, timed.outcome, timed.loops, timed.runs_ns) == (False, "ECONNREFUSED", None, ())
    assert (timed.per_loop_ns, timed.cpu_per_call_ns) == ((), ())


@pytest.mark.parametrize("loops", [1, 2, 5, 10, 20, 50])
def test_every_number_of_loops_that_timeit_tries_can_be_chosen(loops: int) -> None:
    answers = [{"code": "200", "body_length": 13, "calls": 5 * (1 + 8 * loops)}]
    assert read_harness_line(line(loops=loops, answers=answers)).loops == loops


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "0 lines printed instead of one"),
        (line() * 2, "2 lines printed"),
        ("http://a.test/plain,200,2026-01-01T00:00:00Z,1.0,13\n", "Invalid JSON"),
        ("[]", "should be an object"),
        (line(extra=1), "extra: Unexpected keyword argument"),
        (line(loops="20"), "loops: Input should be a valid integer"),
        (line(loops=30), "30 loops, which timeit never tries"),
        (line(loops=0), "0 loops"),
        (line(loops=None), "runs without a number of loops"),
        (line(runs_ns=[1] * 6), "6 runs, but CPU time of 7 and 7"),
        (line(runs_ns=[1] * 6, cpu_user_ns=[1] * 6, cpu_system_ns=[1] * 6), "6 runs instead of 7"),
        (line(runs_ns=[1] * 8, cpu_user_ns=[1] * 8, cpu_system_ns=[1] * 8), "8 runs instead of 7"),
        (line(cpu_user_ns=[-1] * 7), "a time below 0"),
        (line(calls_per_loop=0), "calls must be 1 or more"),
        (line(answers=[]), "0 answers; there must be 805 or more"),
        (line(answers=[{"code": "200", "body_length": 13, "calls": 800}]), "800 answers; there must be 805 or more"),
        (line(answers=[{"code": "200", "body_length": 13, "calls": 901}]), "only whole loops"),
        (line(answers=[{"code": "200", "body_length": 13}]), "answers.0.calls: Field required"),
    ],
)
def test_what_cannot_be_such_a_line_is_refused(printed: str, said: str) -> None:
    with pytest.raises(UnreadableReport, match="HARNESS=timeit: ") as refused:
        read_harness_line(printed)
    assert said in str(refused.value)
