"""Options of the command line: their declaration as fields and parameters, their list, and their parsing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints


class Group(StrEnum):
    """Headings of help, in order."""

    MEASURED = "What is measured"
    WAY = "The web, and the path to it"
    LIVE = "The real internet"
    PUBLISHED = "Published measurements"
    MACHINE = "Subjects, and the machine"
    RUN = "The run"
    RESULTS = "Results"


@dataclass(frozen=True, slots=True)
class Option:
    """Mark of a field or parameter that is an option or an argument: ``Annotated[int, Option("--limit N", ...)]``."""

    usage: str
    """The spellings of an option, and the word for its value: ``--runs, --out DIR``; of an argument the word alone."""
    help: str
    environment: str | None = None
    """The equivalent environment variable."""
    read: Callable[[str, str], Any] | None = None
    """Parse the text of a field; the flag is for error messages. None: keep the text."""
    least: float | None = None
    most: float | None = None
    shown_default: str | None = None
    """Description of a default without a value, for help."""
    stored: bool = True
    """Whether the manifest keeps the field."""
    group: str = Group.MEASURED
    """The heading in help, where the verb has headings."""
    offers: Callable[[Any], Iterable[str]] | Sequence[str] = ()
    """Completions of the shell: words, a function of Click's context, or the kind of the offered subjects."""
    check: Callable[..., Any] | None = None
    """Check the value of a parameter as a callback of Click, and return it."""
    hidden: bool = False
    """Whether help and the shell leave it out: an earlier name of another option."""

    @property
    def flag(self) -> str:
        """The spellings of an option; empty for an argument."""
        return " ".join(word for word in self.usage.split() if word.startswith("-"))

    @property
    def metavar(self) -> str | None:
        """The word for the value."""
        return self.usage.removeprefix(self.flag).strip() or None

    @property
    def parameter(self) -> str:
        """Its name as a parameter of a function: ``link_seed`` of ``--link-seed``."""
        return self.flag.removeprefix("--").replace("-", "_")


def option(default: object, usage: str, help: str, **more: Any) -> Any:  # noqa: A002, ANN401
    """Declare a field that is an option; the other arguments are the fields of ``Option``."""
    return field(default=default, metadata={"option": Option(usage, help, **more)})


class OptionField(NamedTuple):
    """A field that is an option."""

    name: str
    option: Option
    typed: Any
    """The type on the command line: text if it is parsed, else that of the field."""
    default: object
    """The default as typed; None: none."""


def option_fields(kind: type[Any]) -> tuple[OptionField, ...]:
    """List the options of a dataclass, in the order of its fields."""
    return _option_fields(kind)  # type: ignore[arg-type]  # mypy does not see that a class can be hashed


@cache
def _option_fields(kind: type[Any]) -> tuple[OptionField, ...]:
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for one in fields(kind):
        marks = (one.metadata.get("option"), *getattr(hints[one.name], "__metadata__", ()))
        mark = next((mark for mark in marks if isinstance(mark, Option)), None)
        if mark is None:
            continue
        assert one.default is not MISSING, f"{one.name}: what may be left out has a default"
        default = f"{one.default:.15g}" if isinstance(one.default, float) else one.default
        own = get_args(hints[one.name])[0] if hasattr(hints[one.name], "__metadata__") else hints[one.name]
        typed = own if mark.read is None else (str | None if default is None else str)
        found.append(OptionField(one.name, mark, typed, default))
    return tuple(found)


def read_options(kind: type[Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Parse command-line values by parameter name into values of fields.

    Raises
    ------
    InvalidValue
        If one of them cannot be read; the message names the option.
    """
    values = {}
    for name, mark, _, _ in option_fields(kind):
        value = typed[mark.parameter]
        values[name] = mark.read(value, mark.flag) if mark.read is not None and value is not None else value
    return values


def stored_options(options: object) -> dict[str, Any]:
    """Return the values of the options that the manifest keeps; the others become part of derived settings."""
    return {one.name: getattr(options, one.name) for one in option_fields(type(options)) if one.option.stored}
