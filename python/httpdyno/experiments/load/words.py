"""The words of ``httpdyno load``: what may be typed, what it means, and what of it the engine is told.

Imports next to nothing: ``httpdyno load`` must start at once.
"""

from __future__ import annotations

from httpdyno.experiments.load.quick import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

__all__ = ["FORMATS", "LOAD_OPTIONS", "load_arguments"]

FORMATS = ("csv", "json", "markdown", "plain", "table")
"""Those of a report, known without a look at the reports, which takes long to import."""

_PACE = "How much, and how fast"
_TARGET = "What is sent"
_CONNECTION = "Connections"
_RESULT = "Results"


LOAD_OPTIONS = (
    Option(
        "urls",
        kind="texts",
        metavar="URL",
        help="Asked in turn; or give --urls or --requests-file.",
    ),
    Option(
        "connections",
        *("--connections", "-c"),
        kind="whole",
        least=1,
        metavar="N",
        help="Connections. Default: 64.",
        group=_PACE,
    ),
    Option(
        "duration",
        *("--duration", "-d"),
        metavar="TIME",
        help="How long: seconds, or with a unit (500ms, 5m). Default: 10s, unless --requests is given.",
        group=_PACE,
    ),
    Option(
        "requests",
        *("--requests", "-n"),
        kind="whole",
        least=1,
        metavar="N",
        help="How many requests at most.",
        group=_PACE,
    ),
    Option(
        "rate",
        *("--rate", "-r"),
        metavar="RATE",
        help="Open loop: so many requests a second whatever the server does, or a ramp such as 100..5000."
        " Default: closed loop, the next request when an answer came.",
        group=_PACE,
    ),
    Option(
        "arrivals",
        "--arrivals",
        metavar="LAW",
        help="Open loop: constant (evenly spaced) or poisson (as strangers come). Default: constant.",
        group=_PACE,
        offers=("constant", "poisson"),
    ),
    Option(
        "seed",
        "--seed",
        kind="whole",
        least=0,
        most=2**64 - 1,
        metavar="N",
        help="Of random arrivals.",
        group=_PACE,
    ),
    Option(
        "repeat",
        "--repeat",
        kind="whole",
        default=1,
        least=1,
        most=1000,
        metavar="N",
        help="How often; `compare` tells differences from chance by it.",
        group=_PACE,
        told=False,
    ),
    Option(
        "method",
        *("--method", "-X"),
        metavar="METHOD",
        help="Default: GET, or POST with a body.",
        group=_TARGET,
        offers=("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"),
    ),
    Option(
        "headers",
        *("--header", "-H"),
        kind="texts",
        metavar="'NAME: VALUE'",
        help="May be given several times.",
        group=_TARGET,
    ),
    Option("body", "--body", metavar="TEXT", help="Content of each request.", group=_TARGET),
    Option("body_file", "--body-file", metavar="FILE", help="The same from a file.", group=_TARGET),
    Option(
        "requests_file",
        "--requests-file",
        metavar="FILE",
        help='Many requests, one a line, in turn: {"url": ..., "method": ..., "headers": {...}, "body": ..., '
        '"check": [...]}.',
        group=_TARGET,
    ),
    Option(
        "urls_file",
        "--urls",
        metavar="FILE|-",
        help="URLs, one a line; - reads standard input.",
        group=_TARGET,
    ),
    Option(
        "checks",
        "--check",
        kind="texts",
        metavar="CHECK",
        help="Hold each answer against status=200, length=N, sha256=HEX or json=POINTER=VALUE; may be repeated.",
        group=_TARGET,
    ),
    Option(
        "keepalive",
        "--keepalive",
        kind="flag",
        negation="--no-keepalive",
        default=True,
        help="Reuse connections, or make one a request.",
        group=_CONNECTION,
    ),
    Option(
        "http2",
        "--http2",
        kind="flag",
        default=False,
        help="HTTP/2: by ALPN, for http:// by prior knowledge.",
        group=_CONNECTION,
    ),
    Option(
        "streams",
        "--streams",
        kind="whole",
        least=1,
        metavar="N",
        help="HTTP/2: requests in flight on each connection. Default: 1.",
        group=_CONNECTION,
    ),
    Option(
        "timeout",
        "--timeout",
        metavar="TIME",
        help="What a request is given. Default: 5s.",
        group=_CONNECTION,
    ),
    Option(
        "insecure",
        *("--insecure", "-k"),
        kind="flag",
        default=False,
        help="Accept any certificate.",
        group=_CONNECTION,
    ),
    Option("cacert", "--cacert", metavar="FILE", help="Trust these certificates, too (PEM).", group=_CONNECTION),
    Option(
        "resolve",
        "--resolve",
        kind="texts",
        metavar="HOST:PORT:ADDRESS",
        help="The address of a host, without DNS, as curl has it.",
        group=_CONNECTION,
    ),
    Option(
        "connect_to",
        "--connect-to",
        kind="texts",
        metavar="HOST1:PORT1:HOST2:PORT2",
        help="Connect to another host than the URL names, as curl has it.",
        group=_CONNECTION,
    ),
    Option(
        "cpus",
        "--cpus",
        metavar="LIST",
        help="CPUs of the generator, a thread on each: 0 or 2-3.",
        group=_CONNECTION,
    ),
    Option(
        "fail_if",
        "--fail-if",
        kind="texts",
        metavar="LIMIT",
        help="Exit with 1 when it holds: 'p99 > 50ms', 'errors > 0.1%', 'rps < 1000'; may be given several times.",
        group=_RESULT,
        told=False,
    ),
    Option("samples", "--samples", metavar="FILE", help="A line for each request (CSV).", group=_RESULT),
    Option(
        "hdr_log",
        "--hdr-log",
        metavar="FILE",
        help="The histograms of each second (HdrHistogram V2).",
        group=_RESULT,
    ),
    Option(
        "format",
        "--format",
        default="table",
        variable="FORMAT",
        metavar="FORMAT",
        help="table, plain, json, csv or markdown.",
        group=_RESULT,
        offers=FORMATS,
        told=False,
    ),
    Option(
        "out",
        "--out",
        default="runs",
        metavar="DIR",
        help="Where runs are kept: each gets a folder of its own there.",
        group=_RESULT,
        told=False,
    ),
    Option(
        "no_store",
        "--no-store",
        kind="flag",
        default=False,
        help="Keep nothing: no run, no report.",
        group=_RESULT,
        told=False,
    ),
)


def load_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the engine's arguments. A value cannot be taken for an option, whatever it begins with.

    ``options`` are the values by name, or the fields of ``LoadOptions``.
    """
    told = [one for one in LOAD_OPTIONS if one.told and one.spellings]
    return [*(word for one in told for word in _words(one, options[one.name])), "--", *(options["urls"] or ())]


def _words(option: Option, value: Any) -> Iterator[str]:  # noqa: ANN401
    spelling = option.spellings[0]
    if option.kind == "texts":
        yield from (f"{spelling}={one}" for one in value or ())
    elif option.name == "http2":
        yield from ["--http-version=2"] if value else []
    elif option.name == "keepalive":
        yield from [] if value else ["--keepalive=false"]
    elif option.kind == "flag":
        yield from [spelling] if value else []
    elif value is not None:
        yield f"{spelling}={value}"
