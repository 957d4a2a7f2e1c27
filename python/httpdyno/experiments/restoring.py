"""Makes experiments again from what the manifests of their runs say."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from httpdyno.errors import InvalidValue, UnreadableRun
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.options import option_fields
from httpdyno.model import Workload
from httpdyno.store import WebIdentity

__all__ = ["only_web", "reading_settings", "restored", "restored_from_settings", "settings_of", "workload_settings"]

_ELSEWHERE: Final = frozenset({"workload", "web", "seed", "web_digest"})
"""Fields that are not among the settings: the workload lies there in pieces, the web stands for itself."""
_LATER: Final = frozenset({"link", "link_seed", "against"})
"""Settings that runs of an older version do not have: they were made without."""
_OF_WORKLOAD: Final = tuple(field.name for field in fields(Workload) if field.name != "urls")
_SINGLE: Final = frozenset({str, int, float, bool})
_Kind = TypeVar("_Kind")


def restored(kind: type[_Kind], settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path) -> _Kind:
    """Make an experiment of one web and one list again.

    Parameters
    ----------
    kind : type
        A dataclass with the fields ``workload``, ``web``, ``seed`` and ``web_digest``, whose others are its settings.
    settings : mapping
        Those of the manifest; what is none of its fields is left alone.
    webs : sequence of WebIdentity
        Its web, alone.
    urls : Path
        The list.

    Raises
    ------
    UnreadableRun
        If a setting is missing or cannot be.
    """
    of_kind: Any = kind
    with reading_settings():
        web = only_web(webs)
        workload = {name: settings[name] for name in _OF_WORKLOAD}
        names = [field.name for field in fields(of_kind) if field.name not in _ELSEWHERE]
        own = {name: settings[name] for name in names if name in settings or name not in _LATER}
        identity = {"web": web.name, "seed": web.seed, "web_digest": web.digest}
        try:
            return TypeAdapter(kind).validate_python({**own, **identity, "workload": {**workload, "urls": urls}})
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidValue(f"{first['loc'][-1]}: {first['msg']}") from error


def workload_settings(workload: Workload) -> dict[str, Setting]:
    """Return what a workload asks, its list aside, as settings from which ``restored`` makes it again."""
    return {name: getattr(workload, name) for name in _OF_WORKLOAD}


def settings_of(experiment: object) -> dict[str, Setting]:
    """Return the fields of an experiment that its manifest keeps, by name; its web stands there for itself."""
    return {name: getattr(experiment, name) for name in _kept(type(experiment))}


def _kept(kind: Any) -> list[str]:  # noqa: ANN401  # any dataclass
    """List the fields that are settings: those of a single value which are not said to be kept elsewhere."""
    hints = get_type_hints(kind)
    not_stored = {one.name for one in option_fields(kind) if not one.option.stored}
    own = [field.name for field in fields(kind) if field.name not in _ELSEWHERE | not_stored]
    return [name for name in own if {*get_args(hints[name]), hints[name]} & _SINGLE]


def restored_from_settings(
    kind: type[_Kind], settings: Mapping[str, Setting], webs: Sequence[WebIdentity], **elsewhere: object
) -> _Kind:
    """Make an experiment again from what ``settings_of`` gave of it, and its web; other settings are left alone.

    ``elsewhere`` has the fields that are more than a single value.

    Raises
    ------
    UnreadableRun
        If a setting is missing or cannot be.
    """
    from pydantic import TypeAdapter, ValidationError  # heavy: only who resumes a run pays for it

    named = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # any dataclass
    with reading_settings():
        own = {name: settings[name] for name in _kept(kind)}
        web = only_web(webs) if "web" in named else None
        identity = {} if web is None else {"web": web.name, "seed": web.seed, "web_digest": web.digest}
        try:
            return TypeAdapter(kind).validate_python({**own, **elsewhere, **identity})
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidValue(f"{first['loc'][-1]}: {first['msg']}") from error


@contextmanager
def reading_settings() -> Iterator[None]:
    """Return of a setting that is missing or cannot be that the run is damaged.

    Raises
    ------
    UnreadableRun
        In the block, instead of what a dictionary, a number or a record says of it.
    """
    try:
        yield
    except KeyError as error:
        raise UnreadableRun(
            f"the settings of the run are damaged: {error.args[0]} is missing; measure again"
        ) from error
    except (AttributeError, InvalidValue, TypeError, ValueError) as error:
        raise UnreadableRun(f"the settings of the run are damaged: {error}; measure again") from error


def only_web(webs: Sequence[WebIdentity]) -> WebIdentity:
    """Return the web of a run that has one.

    Raises
    ------
    UnreadableRun
        If there is none, or several.
    """
    if len(webs) != 1:
        raise UnreadableRun("the settings of the run are damaged: there must be one web; measure again")
    return webs[0]
