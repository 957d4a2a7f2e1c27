"""Tables as text: one module for each format, under ``formats``."""

from httpdyno.report.registry import format_names, render
from httpdyno.report.surface import Surface

__all__ = ["Surface", "format_names", "render"]
