"""Holm's correction: many comparisons at once, and still rarely one that is false."""

import numpy as np
import numpy.typing as npt

from httpdyno.stats.arrays import FloatArray

__all__ = ["holm"]


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Adjust the p values of comparisons that are made together.

    To call different what has an adjusted p of at most 5 % calls any equal pair of the family different in at most
    5 % of all runs, whichever pairs are equal and however their comparisons depend on each other.

    Parameters
    ----------
    p_values : shape (..., m)
        In any order; the last axis is one family. A family of none stays one of none.

    Returns
    -------
    FloatArray
        Shape (..., m), in the order given: never smaller than what was given, at most 1.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, axis=-1, kind="stable")
    left = np.arange(values.shape[-1], 0, -1)
    stepped = np.maximum.accumulate(np.take_along_axis(values, order, axis=-1) * left, axis=-1)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted
