"""Options of the cost experiment, one field each."""

from dataclasses import dataclass
from typing import Annotated, Final

from httpdyno.experiments.option_fields import option
from httpdyno.experiments.options import DURATION, TIMEOUT, CallOptions, Verb, quick_option, scale_option, web_option
from httpdyno.model import MOST_URLS, SubjectKind

NAME: Final = "cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions(CallOptions):
    """Options of a cost run; None: not given."""

    documents: int | None = option(
        None, "--documents N", "JSON documents that each subject fetches. Default: 10,000.", least=1, most=MOST_URLS
    )
    keepalive: str = option("on", "--keepalive on|off|both", "Whether connections may be kept.")
    gzip: str = option("off", "--gzip on|off|both", "Whether documents are offered compressed.")
    web: Annotated[str | None, web_option("plain")] = None
    timeout_s: Annotated[float, TIMEOUT] = 5.0
    deadline_s: Annotated[float, DURATION] = 600.0
    quick: Annotated[
        bool,
        quick_option(
            "each subject runs once, with 2,000 documents, unless --repeat, --documents or --scale says otherwise."
        ),
    ] = False
    scale: Annotated[str | None, scale_option("documents")] = None


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
