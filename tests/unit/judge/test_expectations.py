"""Expectations of the beginning of a list."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.judge import Expectations, read_expectations

HEAD = "url,outcome,status,length,cause,arrives,request_url,requests,planned_ms\n"


def expected(numbers: list[int]) -> Expectations:
    rows = "".join(f"http://a.example/{n},status,200,{n},,{n % 2},http://a.example/{n},1,0\n" for n in numbers)
    return read_expectations(io.BytesIO((HEAD + rows).encode()))


@given(st.lists(st.integers(0, 99), unique=True, min_size=1), st.data())
def test_the_first_of_a_list_are_expected_as_if_there_were_no_others(numbers: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(numbers)))
    cut, short = expected(numbers).first(count), expected(numbers[:count])
    assert len(cut) == count
    assert cut.distinct.equals(short.distinct)
    assert cut.given.tolist() == short.given.tolist()
    assert (cut.request >= 0).tolist() == (short.request >= 0).tolist()
    urls = expected(numbers).distinct["url"]
    assert cut.urls.find(urls).tolist() == short.urls.find(urls).tolist()


def test_a_list_with_a_url_twice_is_not_cut() -> None:
    twice = expected([1, 1, 2])
    assert twice.first(3) is twice
    with pytest.raises(ValueError, match="more than once"):
        twice.first(2)
