"""Texts found by their hashes, and expectations of the beginning of a list."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpdyno.judge import Expectations, read_expectations
from httpdyno.judge.reference import TextIndex

TEXTS = st.lists(st.text(alphabet="ab/é\U0001f600", max_size=4) | st.text(max_size=30), max_size=20)


def series(texts: list[str]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


def check(texts: list[str], sought: list[str]) -> TextIndex:
    index = TextIndex(series(texts))
    found = index.find(series(sought)).tolist()
    assert [texts[row] if row >= 0 else None for row in found] == [text if text in texts else None for text in sought]
    assert len(index) == len(texts)
    return index


@pytest.mark.slow
@given(TEXTS, TEXTS)
def test_what_is_there_is_found_and_nothing_else(texts: list[str], others: list[str]) -> None:
    index = check(texts, [*others, *texts])
    assert index.distinct == (len(set(texts)) == len(texts))


@pytest.mark.parametrize("hashes", [1, 2, 5])
@given(TEXTS, TEXTS)
@settings(max_examples=50)
def test_hashes_that_are_the_same_for_many_texts_change_nothing(
    hashes: int, texts: list[str], others: list[str]
) -> None:
    def few(index: TextIndex, values: pl.Series) -> np.ndarray:
        greatest = np.uint64(2**64 - 1)
        return (greatest // np.uint64(hashes) * (values.str.len_bytes() % hashes + 1).to_numpy()) & ~index._row

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextIndex, "_hashes", few)
        index = check(texts, [*others, *texts])
    assert not index.distinct or len(set(texts)) == len(texts)


def test_in_many_texts_each_is_found_where_it_is() -> None:
    texts = series([f"https://www.host-{number:07d}.example" for number in range(100_000)])
    order = np.random.default_rng(1).permutation(len(texts))
    index = TextIndex(pl.concat([texts[:7], texts[7:]], rechunk=False))
    assert (index.find(texts.gather(order)) == order).all()
    assert (index.find(texts.gather(order) + "/") == -1).all()
    assert index.distinct
    assert not TextIndex(pl.concat([texts, texts[:1]])).distinct


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
    with pytest.raises(ValueError, match="duplicate URLs"):
        twice.first(2)
