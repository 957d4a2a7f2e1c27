"""Lines cut into five fields: what the fast way gives is what the careful way gives, whatever a client prints."""

import io

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from httpdyno.judge.fields import FIELDS, LONGEST_LINE, Block
from httpdyno.judge.lines import read_lines

TIME = "2024-10-21T12:00:00.000Z"
PIECES = [
    b",",
    b",,",
    b"https://a.example",
    b"200",
    TIME.encode(),
    f",200,{TIME},12.5,".encode(),
    f"https://a.example/x,y,200,{TIME},1,2".encode(),
    f"https://a.example,200,{TIME},1,2\n".encode(),
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
OUTPUT = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=25).map(b"".join)


@given(OUTPUT)
@example(b"u,200\n")
@example(b"a,b,c,d\r\r\na,b,c,d,e\n")
@example(b"a,b,c,d\r\r")
@example("\ufeffu,x\nu,200,x,1,2".encode())
@example(b",,,,\n,,,,,\n,,,")
@example(b",,\r,")
def test_a_line_is_cut_at_its_last_four_commas(output: bytes) -> None:
    expected = []
    for i, line in enumerate(output.decode("utf-8", "replace").split("\n")):
        fields = line.rstrip("\r").rsplit(",", 4)
        if len(fields) == len(FIELDS):
            expected.append((i, *fields))
    assert Block.of(output).fields().rows() == expected


def all_odd(block: Block) -> pl.DataFrame:
    """Leave every line to the careful way."""
    del block
    return pl.DataFrame(schema={"line": pl.UInt32, **dict.fromkeys(FIELDS, pl.String)})


@given(OUTPUT, st.booleans())
def test_lines_read_fast_are_the_same_as_those_read_with_care(output: bytes, cut_short: bool) -> None:
    fast = read_lines(io.BytesIO(output), cut_short=cut_short)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Block, "_regular", all_odd)
        careful = read_lines(io.BytesIO(output), cut_short=cut_short)
    assert fast.frame.equals(careful.frame)
    assert fast.frame.schema == careful.frame.schema
    assert (fast.garbage, fast.garbage_examples) == (careful.garbage, careful.garbage_examples)


@pytest.mark.parametrize("url_length", [LONGEST_LINE - 8, LONGEST_LINE - 7])
def test_the_longest_line_is_the_same_with_four_commas_and_with_more(url_length: int) -> None:
    regular = b"x" * url_length + b",1,2,3,4\n"
    odd = b"," + b"x" * (url_length - 1) + b",1,2,3,4\n"
    assert len(Block.of(regular + odd).fields()) == (0 if url_length > LONGEST_LINE - 8 else 2)


def test_nothing_has_no_lines() -> None:
    assert Block.of(b"").fields().rows() == []
    assert len(Block.of(b"\n\n\n").ends) == 3


def test_very_many_carriage_returns_take_no_longer_than_other_bytes() -> None:
    assert len(Block.of(b"\r" * 2**20 + b"x\n").fields()) == 0
