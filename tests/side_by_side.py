"""Which tests run side by side, what stays together when they do, and on which CPUs each worker or lane runs."""

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Final

__all__ = ["ALONE_BY_DEFAULT", "FIRST_IN_A_LANE", "cpus_of", "unit_of"]

ALONE_BY_DEFAULT: Final = frozenset({"benchmarks", "calibration", "integration"})
"""Folders whose tests have their CPUs for themselves unless they are marked `beside`: most of them measure those."""
FIRST_IN_A_LANE: Final = "integration"
"""The folder with the longest of those tests: lanes that end with short ones wait little for each other."""


def cpus_of(worker: int, cpus: Sequence[int], *, lanes: bool = False) -> frozenset[int]:
    """Give a worker its CPUs: two, of which the next worker has one, too, unless it is a lane.

    A room's engine runs on the first CPU that it may use, its subject on the last: without this, the engines of all
    workers would share one CPU, and their subjects another. Two that follow each other are often those of one core,
    which have more to do with each other than with the next. Workers beyond the number of CPUs go round by twos.
    """
    first = worker * (2 if lanes or worker >= len(cpus) else 1)
    return frozenset(cpus[(first + step) % len(cpus)] for step in range(2))


def unit_of(test: str, subjects: Collection[str]) -> str:
    """Name the tests that one worker runs one after another: those of a subject, or else of a file.

    A server of a subject that is running and its folder are looked at by several tests; files share fixtures.

    Parameters
    ----------
    test : str
        Its id, such as ``tests/contract/test_client.py::test_codings_are_decoded[native]``.
    subjects : collection of str
        The ids of all subjects; a test of one of them has it as its first parameter.
    """
    path, _, name = test.partition("::")
    if PurePosixPath(path).parent.name != "contract":
        return path
    parameters = name.partition("[")[2].rstrip("]")
    named = [subject for subject in subjects if parameters == subject or parameters.startswith(f"{subject}-")]
    return max(named, key=len, default=path)
