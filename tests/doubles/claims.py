"""What the contract asks of every subject of ours: that it claims what it does."""

from httpdyno.model import Subject
from httpdyno.subjects.probe import ProbeResult


def require_claims(subject: Subject, results: tuple[ProbeResult, ...]) -> None:
    """Fail with every claim that differs."""
    wrong = [str(result) for result in results if not result.honest]
    assert not wrong, f"{subject.id}: {'; '.join(wrong)}; correct its [capabilities] or its adapter"
