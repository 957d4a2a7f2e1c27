"""Reads start times that differ in their digits alone, as a table of bytes."""

import re
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["read_times_alike"]

_FORM: Final = re.compile(rb".{11}..:..:..(?:\.([0-9]{1,9})(?![0-9]))?", re.DOTALL)
_DATE, _HOUR, _MINUTE, _SECOND = slice(0, 11), slice(11, 13), slice(14, 16), slice(17, 19)
_LAST_HOUR, _LAST_MINUTE, _LAST_SECOND = 23, 59, 59
_HIGHEST_DIGIT: Final = 9
_NANOSECOND_DIGITS: Final = 9
Int64Array = npt.NDArray[np.int64]
ByteTable = npt.NDArray[np.uint8]


def read_times_alike(texts: pl.Series, first_ns: int) -> Int64Array | None:
    """Read start times of one day in one form: ``2024-10-21T12:34:56.789Z`` with any fraction and zone.

    Parameters
    ----------
    texts : pl.Series
        Strings of the same number of bytes, shape (n,), n >= 1.
    first_ns : int
        What the first of them stands for.

    Returns
    -------
    Int64Array | None
        What each stands for, shape (n,); None when they are not so much alike that it can be said in this way.
    """
    output = texts.str.join("").item().encode()
    width = len(output) // len(texts)
    form = _FORM.match(output[:width])
    if form is None:
        return None
    # One row for each place in the texts: numpy is slow with rows as short as a text.
    table = np.frombuffer(output, dtype=np.uint8).reshape(-1, width).T.copy()
    fraction = slice(*form.span(1)) if form[1] else slice(form.end(), form.end())
    fixed = (_DATE, slice(13, 14), slice(16, 17), slice(_SECOND.stop, fraction.start), slice(fraction.stop, None))
    varying = (_HOUR, _MINUTE, _SECOND, fraction)
    if not all((table[places] == table[places, :1]).all() for places in fixed):
        return None
    table -= np.uint8(ord("0"))
    if not all((table[places] <= _HIGHEST_DIGIT).all() for places in varying):
        return None
    hour, minute, second, nanoseconds = (_number(table[places]) for places in varying)
    if hour.max() > _LAST_HOUR or minute.max() > _LAST_MINUTE or second.max() > _LAST_SECOND:
        return None
    nanoseconds *= 10 ** (_NANOSECOND_DIGITS - (fraction.stop - fraction.start))
    of_day = ((hour * 60 + minute) * 60 + second) * 10**9 + nanoseconds
    return of_day + (first_ns - int(of_day[0]))


def _number(digits: ByteTable) -> Int64Array:
    """Whole numbers from their digits, shape (digits, n); zero where there is none."""
    number = np.zeros(digits.shape[1], dtype=np.int64)
    for digit in digits:
        number *= 10
        number += digit
    return number
