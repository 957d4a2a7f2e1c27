"""The output of clients: lenient to what is meant, safe with what is not."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.judge import lines
from httpdyno.judge.lines import Lines, read_lines

TIME = "2024-10-21T12:00:00.000Z"
NOON = 1729512000 * 10**9


def read(output: str | bytes, *, cut_short: bool = False) -> Lines:
    return read_lines(io.BytesIO(output.encode() if isinstance(output, str) else output), cut_short=cut_short)


@pytest.mark.parametrize(
    ("line", "url", "code", "status", "duration_ns", "body_length"),
    [
        (f"https://a.example,200,{TIME},12.345,678", "https://a.example", "200", 200, 12_345_000, 678),
        (f"https://a.example,404,{TIME},5000,0", "https://a.example", "404", 404, 5_000_000_000, 0),
        (
            f"https://a.example,TimeoutError,{TIME},5001,",
            "https://a.example",
            "TimeoutError",
            None,
            5_001_000_000,
            None,
        ),
        (
            f"https://a.example,no route to host,{TIME},3,",
            "https://a.example",
            "no route to host",
            None,
            3_000_000,
            None,
        ),
        (f"https://a.example/?x=1,2,3,200,{TIME},1,2", "https://a.example/?x=1,2,3", "200", 200, 1_000_000, 2),
        (f"https://a.example,000,{TIME},1,", "https://a.example", "000", None, 1_000_000, None),
        (f"https://a.example,600,{TIME},1,", "https://a.example", "600", None, 1_000_000, None),
        (f"https://a.example,+20,{TIME},1,", "https://a.example", "+20", None, 1_000_000, None),
        (f"https://a.example,2000,{TIME},1,", "https://a.example", "2000", None, 1_000_000, None),
        (f"https://a.example,200,{TIME},1,-1", "https://a.example", "200", 200, 1_000_000, None),
        (f"https://a.example,Reset,{TIME},1,undefined", "https://a.example", "Reset", None, 1_000_000, None),
        (f"https://a.example , 200 , {TIME} , 1.5 , 3 \r", "https://a.example", "200", 200, 1_500_000, 3),
        (f"https://a.example,200,{TIME},1e3,3", "https://a.example", "200", 200, 1_000_000_000, 3),
        (f"nonsense with spaces,InvalidUrl,{TIME},0,", "nonsense with spaces", "InvalidUrl", None, 0, None),
    ],
)
def test_a_line(line: str, url: str, code: str, status: int | None, duration_ns: int, body_length: int | None) -> None:
    result = read(line + "\n")
    assert result.garbage == 0
    assert result.frame.rows() == [(1, url, code, status, NOON, 10**6, duration_ns, body_length)]


@pytest.mark.parametrize(
    "line",
    [
        "Server listening on port 8080",
        "https://a.example,200",
        f"https://a.example,200,{TIME},12",
        f",200,{TIME},12,3",
        f"https://a.example,,{TIME},12,3",
        "https://a.example,200,yesterday,12,3",
        f"https://a.example,200,{TIME},,3",
        f"https://a.example,200,{TIME},NaN,3",
        f"https://a.example,200,{TIME},inf,3",
        f"https://a.example,200,{TIME},-1,3",
        f"https://a.example,200,{TIME},1e300,3",
        f"https://a.example,200,{TIME},12,many",
        f"https://a.example,200,{TIME},12,3.5",
        "\x00",
        "\x1b[31m",
        ",,,,",
        ",,,,,,,,",
        f"https://a.example/{'x' * 70_000},200,{TIME},12,3",
    ],
)
def test_garbage_is_counted_and_the_lines_beside_it_are_read(line: str) -> None:
    good = f"https://a.example,200,{TIME},12,3\n"
    result = read(good + line + "\n" + good)
    assert result.garbage == 1
    assert result.garbage_examples == (line[:120],)
    assert result.frame["line"].to_list() == [1, 3]


def test_empty_lines_are_nothing_but_count_as_lines() -> None:
    result = read(f"\n\r\n\nhttps://a.example,200,{TIME},12,3\n\n")
    assert (result.garbage, result.frame["line"].to_list()) == (0, [4])


def test_nothing_printed_is_no_line() -> None:
    assert (len(read("").frame), read("").garbage) == (0, 0)


def test_the_first_garbage_is_kept() -> None:
    result = read("".join(f"line {number}\n" for number in range(1000)))
    assert (result.garbage, result.garbage_examples) == (1000, ("line 0", "line 1", "line 2"))


def test_bytes_that_are_not_utf_8_are_read_as_far_as_they_go() -> None:
    result = read(b"https://a.example,\xff\xfe oops,2024-10-21T12:00:00.000Z,1,\n\x80\x81\n")
    assert result.frame["code"].to_list() == ["\ufffd\ufffd oops"]
    assert result.garbage == 1


def test_a_line_that_never_ends_is_one_line_of_garbage() -> None:
    endless = b"x" * (20 * 1024 * 1024)
    good = f"https://a.example,200,{TIME},12,3\n".encode()
    result = read(good + endless + b"\n" + good)
    assert (result.garbage, result.frame["line"].to_list()) == (1, [1, 3])
    assert result.garbage_examples == ("x" * 120,)
    assert read(endless).garbage == 1


def test_the_last_line_of_a_killed_client_is_left_out_unless_it_ended() -> None:
    output = f"https://a.example,200,{TIME},12,345\nhttps://b.example,200,{TIME},12,3"
    assert len(read(output).frame) == 2
    assert read(output, cut_short=True).frame["url"].to_list() == ["https://a.example"]
    assert len(read(output + "\n", cut_short=True).frame) == 2
    assert len(read("https://b.exa", cut_short=True).frame) == 0
    assert read("https://b.exa", cut_short=True).garbage == 0


LINE = st.sampled_from(
    [
        f"https://a.example,200,{TIME},12,3".encode(),
        f"https://a.example/é,x,200,{TIME},12,3".encode(),
        f"https://a.example,Some error, with comma,{TIME},12,".encode(),
        b"garbage",
        b"",
        b"\xff\xfe",
    ]
) | st.binary(max_size=40).filter(lambda line: b"\n" not in line)


@given(st.lists(LINE, max_size=12), st.integers(1, 200))
def test_however_the_bytes_are_cut_into_blocks_the_lines_are_the_same(output: list[bytes], block: int) -> None:
    text = b"\n".join(output)
    whole = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", block)
        pieces = read(text)
    assert pieces.frame.equals(whole.frame)
    assert (pieces.garbage, pieces.garbage_examples) == (whole.garbage, whole.garbage_examples)


@given(st.binary(max_size=2000))
def test_every_line_of_any_bytes_is_a_result_or_garbage_or_empty(output: bytes) -> None:
    result = read(output)
    text = output.decode("utf-8", "replace").split("\n")
    assert len(result.frame) + result.garbage == sum(1 for line in text if line.rstrip("\r"))
    assert (
        result.frame.null_count().select("line", "url", "code", "start_ns", "duration_ns").sum_horizontal().item() == 0
    )
