"""What the load generator's command line is for the options of a load, by name as ``LoadOptions`` has them.

Imports nothing: ``httpdyno load`` must start at once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

__all__ = ["load_arguments"]

_VALUED = {
    "--urls": "urls_file",
    "--requests-file": "requests_file",
    "--connections": "connections",
    "--duration": "duration",
    "--requests": "requests",
    "--rate": "rate",
    "--arrivals": "arrivals",
    "--seed": "seed",
    "--method": "method",
    "--body": "body",
    "--body-file": "body_file",
    "--streams": "streams",
    "--cacert": "cacert",
    "--timeout": "timeout",
    "--cpus": "cpus",
    "--samples": "samples",
    "--hdr-log": "hdr_log",
}
_SEVERAL = {"--header": "headers", "--resolve": "resolve", "--connect-to": "connect_to", "--check": "checks"}


def load_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the engine's arguments. A value cannot be taken for an option, whatever it begins with.

    ``options`` are the fields of ``LoadOptions`` by name; other keys are passed over.
    """
    flags = ["--insecure"] if options["insecure"] else []
    return [*(f"{name}={value}" for name, value in _valued(options)), *flags, "--", *(options["urls"] or ())]


def _valued(options: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield from ((name, options[key]) for name, key in _VALUED.items() if options[key] is not None)
    yield from ((name, value) for name, key in _SEVERAL.items() for value in options[key] or ())
    if not options["keepalive"]:
        yield "--keepalive", "false"
    if options["http2"]:
        yield "--http-version", "2"
