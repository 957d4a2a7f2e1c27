"""Options of the cost experiment, one field each."""

from dataclasses import dataclass
from typing import Annotated, Final

from httpdyno.experiments.options import (
    AGAINST,
    DURATION,
    LINK,
    LINK_SEED,
    MEMORY,
    PEER,
    REPEAT,
    SEED,
    TIMEOUT,
    Option,
    Verb,
    preset_option,
    quick_option,
    scale_option,
    web_option,
)
from httpdyno.model import MOST_URLS, SubjectKind

NAME: Final = "cost"
_DOCUMENTS = Option(
    "--documents", "JSON documents that each subject fetches. Default: 10,000.", metavar="N", least=1, most=MOST_URLS
)
_KEEPALIVE = Option("--keepalive", "Whether connections may be kept.", metavar="on|off|both")
_GZIP = Option("--gzip", "Whether documents are offered compressed.", metavar="on|off|both")
_QUICK = quick_option(
    "each subject runs once, with 2,000 documents, unless --repeat, --documents or --scale says otherwise."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions:
    """Options of a cost run; None: not given."""

    documents: Annotated[int | None, _DOCUMENTS] = None
    keepalive: Annotated[str, _KEEPALIVE] = "on"
    gzip: Annotated[str, _GZIP] = "off"
    peer: Annotated[str | None, PEER] = None
    web: Annotated[str | None, web_option("plain")] = None
    seed: Annotated[int | None, SEED] = None
    link: Annotated[str, LINK] = "direct"
    link_seed: Annotated[int, LINK_SEED] = 1
    against: Annotated[str | None, AGAINST] = None
    timeout_s: Annotated[float, TIMEOUT] = 5.0
    deadline_s: Annotated[float, DURATION] = 600.0
    repeat: Annotated[int | None, REPEAT] = None
    quick: Annotated[bool, _QUICK] = False
    preset: Annotated[str | None, preset_option()] = None
    scale: Annotated[str | None, scale_option("documents")] = None
    memory_bytes: Annotated[int | None, MEMORY] = None


VERB: Final = Verb(
    NAME,
    CostOptions,
    help="Measure the cost of JSON documents that each subject fetches, parses and checks one after another.",
    names="Clients and load tools. Default: the usual eleven of bench, ab and httperf.",
    kinds=(SubjectKind.CLIENT, SubjectKind.TOOL),
    examples=(
        ("httpdyno cost", "the eleven clients, ab and httperf"),
        ("httpdyno cost ruby-curb go-net-http --quick", "two, with 2,000 documents, once"),
        ("httpdyno cost java-httpclient --keepalive both --gzip both", "at each of four points"),
        ("httpdyno cost --preset published --peer apache", "as published, from Apache"),
    ),
)
