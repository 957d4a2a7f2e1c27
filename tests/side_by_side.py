"""Which tests stay together when tests run side by side, and on which CPU each worker runs."""

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

__all__ = ["cpu_of", "unit_of"]


def cpu_of(worker: int, cpus: Sequence[int]) -> int:
    """Return the CPU of a worker and of all that it starts: a room has one CPU."""
    return cpus[worker % len(cpus)]


def unit_of(test: str, subjects: Collection[str]) -> str:
    """Name the tests that one worker runs one after another: those of a subject, or else of a file.

    Several tests check a running server of a subject and its folder; files share fixtures.

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
