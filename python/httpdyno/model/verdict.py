"""The words for what became of a sample, of a trial, and of a comparison's right to be believed."""

from enum import StrEnum

__all__ = ["Outcome", "Validity", "Verdict"]


class Verdict(StrEnum):
    """What one line of a client is worth, beside what the web really served."""

    RIGHT = "right"
    WRONG_STATUS = "wrong_status"
    WRONG_LENGTH = "wrong_length"
    LATE = "late"
    FALSE_ERROR = "false_error"
    MISSED_ERROR = "missed_error"
    WRONG_TIME = "wrong_time"
    NOT_REACHED = "not_reached"
    UNVERIFIED = "unverified"

    @property
    def wrong(self) -> bool:
        """Whether the client is at fault: time that ran out and a web that nobody knows are not its errors."""
        return self not in {Verdict.RIGHT, Verdict.NOT_REACHED, Verdict.UNVERIFIED}


class Outcome(StrEnum):
    """How a trial as a whole ended."""

    OK = "ok"
    CRASHED = "crashed"
    HUNG = "hung"
    GARBAGE = "garbage"
    FOREIGN = "foreign"
    DUPLICATE = "duplicate"
    MISSING = "missing"
    INTERRUPTED = "interrupted"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"
    """The room was not what was asked for (its link missed), so that the subject was not started."""
    NEVER_LISTENED = "never_listened"
    """A server accepted no connection."""
    DIED = "died"
    """A server ended, or stopped answering, while requests came."""
    WRONG_ANSWERS = "wrong_answers"
    """A server does not answer what its contract says."""
    LEAKED = "leaked"
    """A server opened more and more descriptors, though no more requests came at once."""


class Validity(StrEnum):
    """Whether a trial's numbers say something about its subject; what is not valid is shown, and not ranked."""

    VALID = "VALID"
    GENERATOR_LIMITED = "GENERATOR_LIMITED"
    ORIGIN_LIMITED = "ORIGIN_LIMITED"
    LINK_LIMITED = "LINK_LIMITED"
    DISTURBED = "DISTURBED"
    """Other programs, the hypervisor or a CPU quota took part; version 0.1 wrote ``UNSTEADY`` or ``ORIGIN_LIMITED``."""
    UNSTEADY = "UNSTEADY"
    """Its own speed drifted."""
    INCORRECT = "INCORRECT"
    UNVERIFIED = "UNVERIFIED"
