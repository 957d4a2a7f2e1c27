"""What httpdyno was installed from: a checkout, or a wheel.

Imports next to nothing: ``httpdyno room`` must start at once.
"""

from __future__ import annotations

import os

_ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))  # noqa: PTH118, PTH120
CHECKOUT: str | None = _ROOT if os.path.isfile(os.path.join(_ROOT, "Cargo.toml")) else None  # noqa: PTH113, PTH118
"""The folder of the checkout; None of a wheel."""


def renew_engine(checkout: str | None = CHECKOUT) -> str:
    """Return the command that brings the engine, or one that fits the Python side again."""
    return "pip install --force-reinstall httpdyno*.whl" if checkout is None else "make setup"


RENEW_ENGINE = f"renew the engine with: {renew_engine()}"
"""What to do when it and the Python side do not understand each other."""
