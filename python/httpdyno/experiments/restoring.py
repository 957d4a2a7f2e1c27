"""Makes an experiment of one web and one list again from what the manifest of its run says."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar

from httpdyno.errors import UnreadableRun
from httpdyno.experiments.experiment import Setting
from httpdyno.model import Workload
from httpdyno.store import WebIdentity

__all__ = ["restored"]

_ELSEWHERE: Final = frozenset({"workload", "web", "seed", "web_digest"})
"""Fields that are not among the settings: the workload lies there in pieces, the web stands for itself."""
_Kind = TypeVar("_Kind")


def restored(kind: type[_Kind], settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path) -> _Kind:
    """Make an experiment again.

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
    from pydantic import TypeAdapter, ValidationError  # heavy: only who resumes a run pays for it

    of_kind: Any = kind
    try:
        (web,) = webs
        workload = {field.name: settings[field.name] for field in fields(Workload) if field.name != "urls"}
        own = {field.name: settings[field.name] for field in fields(of_kind) if field.name not in _ELSEWHERE}
        identity = {"web": web.name, "seed": web.seed, "web_digest": web.digest}
        return TypeAdapter(kind).validate_python({**own, **identity, "workload": {**workload, "urls": urls}})
    except KeyError as error:
        raise UnreadableRun(f"the settings of the run are damaged: {error.args[0]} is missing") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UnreadableRun(f"the settings of the run are damaged: {first['loc'][-1]}: {first['msg']}") from error
    except ValueError as error:
        raise UnreadableRun("the settings of the run are damaged: there must be one web") from error
