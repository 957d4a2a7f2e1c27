"""Whether the figures of a trial say something about its subject."""

from typing import Final

from httpdyno.model import Tally, Validity

__all__ = ["WRONG_SHARE_ALLOWED", "correctness"]

WRONG_SHARE_ALLOWED: Final = 0.005
"""Share of samples that may be wrong without an explanation: 0.5 %."""


def correctness(tally: Tally) -> tuple[Validity, str | None]:
    """Judge a trial by its answers: ``VALID``, ``INCORRECT`` or ``UNVERIFIED``, and why it is not valid.

    Wrong answers that a known failure explains do not count; URLs that were not reached are no answers.
    """
    if tally.unverified:
        return Validity.UNVERIFIED, "nobody knows what the real internet serves: no answer was verified"
    answers = tally.right + tally.wrong_in_all
    if tally.wrong > WRONG_SHARE_ALLOWED * answers:
        share = 100 * tally.wrong / answers
        kinds = {name: getattr(tally, name) for name in _KINDS}
        most = max(kinds, key=lambda name: kinds[name])
        return Validity.INCORRECT, f"{tally.wrong} of {answers} answers are wrong ({share:.1f} %), most of them {most}"
    return Validity.VALID, None


_KINDS: Final = ("wrong_status", "wrong_length", "late", "false_error", "missed_error", "wrong_time")
