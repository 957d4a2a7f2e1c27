"""Mutations: a defect that one URL, or the whole process, is fetched with.

``WRONG=NAME`` names the defect of the process, ``WRONG={"URL": "NAME"}`` that of each URL. Without it the client is
right.
"""

import json
import os
from contextvars import ContextVar

_GIVEN = os.environ.get("WRONG", "")
_OF_URLS: dict[str, str] = json.loads(_GIVEN) if _GIVEN.startswith("{") else {}
_CURRENT: ContextVar[str] = ContextVar("mutation", default=_GIVEN)


def choose_mutation(url: str) -> None:
    """Let the mutation of a URL hold in this task."""
    if _OF_URLS or _GIVEN.startswith("{"):
        _CURRENT.set(_OF_URLS.get(url, ""))


def wrong(name: str) -> bool:
    """Return whether the client has this defect."""
    return _CURRENT.get() == name
