"""The subjects of a run under the names that people read, in the one order of the whole report."""

from collections.abc import Iterable, Mapping, Sequence

from httpdyno.model import Trial

__all__ = ["subject_names"]


def subject_names(trials: Sequence[Trial], order: Iterable[str]) -> dict[str, str]:
    """Name each subject by its language and method, by its id too where two would have one name.

    The names are by id, in the order of the ids given; those that it lacks come last.
    """
    named = {trial.subject: f"{trial.language} {trial.method}".strip() or trial.subject for trial in trials}
    known = [subject for subject in dict.fromkeys((*order, *named)) if subject in named]
    return {subject: _unique(subject, named) for subject in known}


def _unique(subject: str, named: Mapping[str, str]) -> str:
    name = named[subject]
    shared = sum(other == name for other in named.values()) > 1
    return f"{name} ({subject})" if shared else name
