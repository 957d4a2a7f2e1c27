"""Finds the clients that are not asked: those that do not claim the version of HTTP which all are told to speak."""

from collections.abc import Iterable

from httpdyno.errors import SubjectUnavailable
from httpdyno.model import Condition, Subject
from httpdyno.subjects.build import BuildOutcome

__all__ = ["not_speaking"]


def not_speaking(subjects: Iterable[Subject], conditions: Iterable[Condition]) -> dict[str, BuildOutcome]:
    """Return the clients that cannot speak what a condition asks for, each with the reason; they need not be built.

    Told to speak it all the same they would end at once, or speak another version: neither is a figure. They are by id,
    in the order of ``subjects``, each without a build.
    """
    asked = sorted({condition.workload.http_version for condition in conditions} - {""})
    refused = {}
    for subject in subjects:
        lacking = [version for version in asked if version not in subject.capabilities.http]
        if lacking and not subject.unavailable:
            error = SubjectUnavailable(_reason(subject, lacking[0]))
            refused[subject.id] = BuildOutcome(subject, error=error)
    return refused


def _reason(subject: Subject, version: str) -> str:
    has = " and ".join(subject.capabilities.http)
    claims = f"it claims HTTP/{has} alone" if has else "its subject.toml claims no version"
    return f"{subject.id}: not measured, for it cannot be told to speak HTTP/{version}: {claims}"
