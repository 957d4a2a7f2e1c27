"""How an experiment is typed: its verb, the options that it has, and what its help says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from httpdyno.model import SubjectKind

__all__ = ["Example", "Verb"]


class Example(NamedTuple):
    """A line to type, and what for."""

    line: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Verb:
    """The verb of an experiment. It stands beside the options: who only types must not wait for what measures."""

    name: str
    """As it is typed, and as manifests carry it: ``bench``."""
    options: type[Any]
    """A dataclass whose fields are marked with ``Option``."""
    help: str
    """What it does, in a sentence."""
    names: str
    """Who can be named, and who is measured when nobody is."""
    examples: Sequence[Example] = ()
    named: str = "SUBJECT"
    kinds: Sequence[SubjectKind] = (SubjectKind.CLIENT,)
    """Of what kind those are that can be named."""
    must_name: bool = False
    """Whether nobody is measured unless somebody is named."""
    fetcher: bool = False
    """Whether it is asked before all trials what the web can give at all."""
