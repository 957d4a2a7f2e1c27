"""Rebuild experiments from the manifests of their runs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Self, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from httpdyno.errors import InvalidValue, UnreadableRun
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.option_fields import option_fields
from httpdyno.experiments.plan import ListedPlan, Plan, schedule, usual_repeat
from httpdyno.model import Condition, Link, Subject, Workload
from httpdyno.store import WebIdentity

_OF_WEB: Final = frozenset({"web", "seed", "web_digest"})
"""Fields that are not settings: the manifest has the web separately."""
_LATER: Final = frozenset({"rank_by", "server_cpus"})
"""Settings that runs of version 0.1.0 do not have."""
_Kind = TypeVar("_Kind")


def settings_of(experiment: object) -> dict[str, Setting]:
    """Return the fields of an experiment that its manifest keeps as settings, by name; its web is stored separately."""
    return {name: getattr(experiment, name) for name in _kept(type(experiment))}


def _kept(kind: Any) -> list[str]:  # noqa: ANN401  # any dataclass
    """List the fields that are settings: those with a single value that the manifest does not keep elsewhere."""
    hints = get_type_hints(kind)
    elsewhere = {*_OF_WEB, *(one.name for one in option_fields(kind) if not one.option.stored)}
    own = [field.name for field in fields(kind) if field.name not in elsewhere]
    return [name for name in own if {*get_args(hints[name]), hints[name]} & {str, int, float, bool}]


def restored(
    kind: type[_Kind],
    settings: Mapping[str, Setting],
    webs: Sequence[WebIdentity],
    urls: Path | None = None,
    **values: object,
) -> _Kind:
    """Rebuild an experiment from the output of ``settings_of``, its web and its list.

    Unknown settings are ignored; ``values`` has the fields that consist of several values.
    """
    named = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # any dataclass
    with reading_settings():
        values |= {name: settings[name] for name in _kept(kind) if name in settings or name not in _LATER}
        if "web" in named:
            if len(webs) != 1:
                raise UnreadableRun("the settings of the run are damaged: there must be one web; measure again")
            values |= {"web": webs[0].name, "seed": webs[0].seed, "web_digest": webs[0].digest}
        if "file" in named:
            if urls is None:
                raise UnreadableRun("the run is damaged: its list of URLs is missing; begin a new run")
            values["file"] = urls
        try:
            return TypeAdapter(kind).validate_python(values)
        except ValidationError as error:
            first = error.errors()[0]
            place = first["loc"][-1] if first["loc"] else "options"
            raise InvalidValue(f"{place}: {first['msg']}") from error


class OfOneWeb(ABC):
    """An experiment with one web, whose settings are its fields."""

    __slots__ = ()
    web: str
    seed: int
    web_digest: str | None
    """The engine's default web and seed; None on the real internet."""
    link_seed: int
    against: str | None
    memory_bytes: int | None
    repeat: int | None
    quick: bool

    @abstractmethod
    def conditions(self) -> Sequence[Condition]:
        """Return the points of its grid."""

    @staticmethod
    def able_to(subject: Subject, condition: Condition) -> bool:
        """Return whether a subject supports a condition; here every subject supports all."""
        del subject, condition
        return True

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all subjects in blocks; subjects skip the conditions that they do not support."""
        return self.listed_blocks(subjects)

    def listed_blocks(self, subjects: Sequence[Subject]) -> ListedPlan:
        """Return ``repeat`` blocks of trials of each condition, by default the usual number."""
        blocks = usual_repeat(len(subjects), quick=self.quick) if self.repeat is None else self.repeat
        plans = schedule(subjects, self.conditions(), repeat=blocks, seed=self.seed, able_to=self.able_to)
        if subjects and not plans:
            raise InvalidValue("no subject supports these settings; choose other subjects, or other settings")
        return ListedPlan(plans, {"repeat": blocks})

    def base_condition(self, experiment: str, workload: Workload, link: str, concurrency: int | None) -> Condition:
        """Return a condition with the web, the link and the memory limit of the experiment."""
        return Condition(
            experiment,
            self.web,
            workload,
            self.seed,
            concurrency,
            Link.parse(link),
            self.link_seed,
            self.against,
            memory_bytes=self.memory_bytes,
        )

    def webs(self) -> tuple[WebIdentity, ...]:
        """Return the web of all trials."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options of the experiment."""
        return settings_of(self)

    @classmethod
    def restore(cls, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None) -> Self:
        """Rebuild the experiment from its manifest."""
        return restored(cls, settings, webs, urls)


@contextmanager
def reading_settings() -> Iterator[None]:
    """Raise ``UnreadableRun`` if the block finds a missing or invalid setting."""
    try:
        yield
    except KeyError as error:
        raise UnreadableRun(
            f"the settings of the run are damaged: {error.args[0]} is missing; measure again"
        ) from error
    except (AttributeError, InvalidValue, TypeError, ValueError) as error:
        raise UnreadableRun(f"the settings of the run are damaged: {error}; measure again") from error
