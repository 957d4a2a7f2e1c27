"""The source of the installation: a checkout, or a wheel.

Imports next to nothing: ``httpdyno room`` must start at once.
"""

from __future__ import annotations

import os

_ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))  # noqa: PTH118, PTH120
CHECKOUT: str | None = _ROOT if os.path.isfile(os.path.join(_ROOT, "Cargo.toml")) else None  # noqa: PTH113, PTH118
"""Folder of the checkout; None for a wheel."""


def renew_engine(checkout: str | None = CHECKOUT) -> str:
    """Return the command that installs the engine of this version."""
    return "pip install --force-reinstall httpdyno*.whl" if checkout is None else "make setup"


RENEW_ENGINE = f"renew the engine with: {renew_engine()}"
"""Advice when the versions of the engine and of the Python side do not match."""
