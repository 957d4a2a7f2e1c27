"""Options that several verbs share, with the environment variables that do the same."""

from pathlib import Path
from typing import Annotated, Any

import typer

from httpdyno.cli.completion import (
    complete_formats,
    complete_http_versions,
    complete_links,
    complete_own_webs,
    complete_presets,
    complete_runs,
    complete_servers,
    complete_webs,
)
from httpdyno.experiments.options import WEBS

__all__ = [
    "Against",
    "Concurrency",
    "Contact",
    "Cpus",
    "Detach",
    "DocumentScale",
    "Duration",
    "Every",
    "Format",
    "GridPreset",
    "GridScale",
    "HttpVersion",
    "Install",
    "Limit",
    "LinkSeed",
    "LinkSpec",
    "Memory",
    "OutputFolder",
    "OwnWeb",
    "Peer",
    "PerHost",
    "PerHostInterval",
    "Preset",
    "Quick",
    "Repeat",
    "Resume",
    "Scale",
    "Seed",
    "ServerLink",
    "SubjectFolders",
    "Timeout",
    "Urls",
    "UserAgent",
    "Web",
    "Yes",
]

Urls = Annotated[
    str | None,
    typer.Option("--urls", metavar="FILE|-", help="URLs or bare domains, one a line; - reads standard input."),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        envvar="LIMIT",
        help="How many URLs. Default: all of a list, the first 2,000 of a web.",
    ),
]
Concurrency = Annotated[
    str | None,
    typer.Option(
        "--concurrency",
        metavar="N|auto",
        envvar="CONCURRENCY",
        help="Requests in flight at once; auto: what tune has found here. Default: each subject's own.",
    ),
]
Duration = Annotated[
    str,
    typer.Option(
        "--duration", metavar="TIME", envvar="DURATION", help="Deadline of a trial: seconds, or with a unit (10m)."
    ),
]
Timeout = Annotated[
    str,
    typer.Option(
        "--timeout",
        metavar="TIME",
        envvar="REQUEST_TIMEOUT",
        help="What a client gives one URL: seconds, or with a unit (800ms).",
    ),
]
HttpVersion = Annotated[
    str | None,
    typer.Option(
        "--http-version",
        metavar="1.1|2",
        envvar="HTTP_VERSION",
        help="The one version of HTTP that clients are told to speak; who does not claim it is unavailable. Default: "
        "each client's own.",
        autocompletion=complete_http_versions,
    ),
]
UserAgent = Annotated[
    str,
    typer.Option(
        "--user-agent", metavar="TEXT", envvar="USER_AGENT", help="User agent to send. Default: each client's own."
    ),
]
Web = Annotated[
    str,
    typer.Option(
        "--web",
        metavar="WEB",
        help=f"{', '.join(WEBS)}, the TOML file of a web model, or live: the real internet, for the list of --urls.",
        autocompletion=complete_webs,
    ),
]
OwnWeb = Annotated[
    str,
    typer.Option(
        "--web",
        metavar="WEB",
        help=f"{', '.join(WEBS)}, or the TOML file of a web model.",
        autocompletion=complete_own_webs,
    ),
]
PerHost = Annotated[
    int | None,
    typer.Option("--per-host", metavar="N", min=1, help="Live web: URLs of one host in flight at once. Default: 1."),
]
PerHostInterval = Annotated[
    str | None,
    typer.Option(
        "--per-host-interval",
        metavar="TIME",
        help="Live web: the least time between two URLs of one host: seconds, or with a unit (200ms). Default: none.",
    ),
]
Contact = Annotated[
    str,
    typer.Option(
        "--contact",
        metavar="TEXT",
        envvar="HTTPDYNO_CONTACT",
        help="Live web: how you can be reached, a mail address or a page; it stands in the user agent.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Live web: start without asking.")]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=2**64 - 1,
        help="Seed of the web and of the order of trials.",
        show_default="the web's own",
    ),
]


def _link(ends: str) -> Any:  # noqa: ANN401  # what Typer gives
    return typer.Option(
        "--link",
        metavar="SPEC",
        help=f"Path between {ends}: rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%,mtu=1500, one way with "
        "up. or down.; or lan, dc, broadband, 4g, satellite, with changes after it: 4g,loss=1%.",
        autocompletion=complete_links,
    )


LinkSpec = Annotated[str, _link("client and web")]
ServerLink = Annotated[str, _link("generator and server")]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="URL",
        help="Measure against another machine, such as http://other:8080, where `httpdyno origin --listen` runs.",
    ),
]
LinkSeed = Annotated[
    int,
    typer.Option("--link-seed", metavar="N", min=0, max=2**64 - 1, help="Seed of the link: which packets are lost."),
]
Repeat = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        min=1,
        help="How often each subject runs, interleaved. Default: 5, or 7 for more than five subjects.",
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="A first look: each subject runs once, with 500 URLs, unless --repeat or --limit says otherwise.",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="RUN",
        help="Go on with a run that was stopped: its folder, its name below --out, latest or previous.",
        autocompletion=complete_runs,
    ),
]
Detach = Annotated[
    bool, typer.Option("--detach", help="Run in the background, also when this terminal is closed; print the folder.")
]
Cpus = Annotated[
    str | None,
    typer.Option(
        "--cpus", metavar="SUBJECT[:ENGINE]", help="CPUs of the subject and of the engine, such as 1:0 or 2-3:0,1."
    ),
]
Memory = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="Memory limit of the subject, such as 2GiB.")
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        envvar="FORMAT",
        metavar="FORMAT",
        help="table, plain, json, csv or markdown.",
        autocompletion=complete_formats,
    ),
]
OutputFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where runs are kept: each gets a folder of its own there.")
]
SubjectFolders = Annotated[
    list[Path] | None,
    typer.Option("--subjects", metavar="DIR", help="Folder of further subjects; may be given several times."),
]
Every = Annotated[
    bool, typer.Option("--all", help="Every client there is, not only the eleven of the published crawl's table.")
]
Install = Annotated[
    bool, typer.Option("--install", help="First bring what the subjects need, as `httpdyno subjects install` does.")
]


def _preset(names: str) -> Any:  # noqa: ANN401
    return typer.Option(
        "--preset",
        metavar="NAME",
        help=f"Measure again what was published, and print both; takes: {names}.",
        autocompletion=complete_presets,
    )


def _scale(what: str) -> Any:  # noqa: ANN401
    return typer.Option("--scale", metavar="SHARE", help=f"Take that share of a preset's {what}, such as 1/10.")


Preset = Annotated[str | None, _preset("published")]
GridPreset = Annotated[
    str | None,
    _preset(
        "published-batch-1, published-batch-1-public-network, published-batch-2, published-batch-3,"
        " published-batch-3-23gbit or published-batch-4"
    ),
]
Scale = Annotated[str | None, _scale("URLs")]
DocumentScale = Annotated[str | None, _scale("documents")]
GridScale = Annotated[str | None, _scale("rates and requests in flight")]
Peer = Annotated[
    str | None,
    typer.Option(
        "--peer",
        metavar="SERVER",
        help="A server that answers instead of the engine's own origin, such as apache.",
        autocompletion=complete_servers,
    ),
]
