"""Names of the arrays that pure functions take and return."""

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "FloatArray", "Int64Array"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
