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
    """Refuse a subject that can do nothing of what is asked; ``asked`` names the options that ask for it."""
    for subject in subjects:
        if not any(able_to(subject, condition) for condition in conditions):
            raise UsageError(f"{subject.id}: cannot do that with {asked}; leave it out, or choose other settings")
