"""What a case is: a question, the figures that answer it, and a function that measures them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ratios.figures import Column, Round, Target
from ratios.place import Place

__all__ = ["Case", "Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a case has measured."""

    rounds: tuple[Round, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One question about speed."""

    name: str
    title: str
    setting: str
    """What is measured, with what, in a sentence or two for the reader of the table."""
    columns: tuple[Column, ...]
    targets: tuple[Target, ...]
    measure: Callable[[Place], Measured]
