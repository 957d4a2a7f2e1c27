"""Figures that several tables take from what the engine and the kernel counted of a trial."""

from collections.abc import Callable

from httpdyno.model import Trial

__all__ = ["Figure", "of_counter", "wire_bytes"]

Figure = Callable[[Trial], float | None]


def of_counter(name: str, scale: float = 1.0) -> Figure:
    """Return the figure that is one of ``model.Counters``, times a scale; None where nobody counted it."""

    def figure(trial: Trial) -> float | None:
        value = getattr(trial.counters, name)
        return None if value is None else value * scale

    return figure


def wire_bytes(trial: Trial) -> float | None:
    """Return what was sent and received on the wire; None where one of them is not known."""
    sent, received = trial.counters.sent_bytes, trial.counters.received_bytes
    return None if sent is None or received is None else sent + received
