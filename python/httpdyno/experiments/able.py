"""Refuses subjects that can do nothing of what is asked, before anything is built."""

from collections.abc import Callable, Sequence

from httpdyno.errors import UsageError
from httpdyno.model import Condition, Subject

__all__ = ["require_able"]


def require_able(
    subjects: Sequence[Subject],
    conditions: Sequence[Condition],
    able_to: Callable[[Subject, Condition], bool],
    asked: str,
) -> None:
    """Refuse a subject that can do nothing of what is asked.

    Parameters
    ----------
    subjects, conditions
        Who is asked what.
    able_to : callable
        Tells whether one can do the other.
    asked : str
        The options that ask for it.

    Raises
    ------
    UsageError
        If there is such a subject.
    """
    for subject in subjects:
        if not any(able_to(subject, condition) for condition in conditions):
            raise UsageError(f"{subject.id}: cannot do that with {asked}; leave it out, or choose other settings")
