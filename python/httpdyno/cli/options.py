"""Options that several verbs share, with the environment variables that do the same."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.completion import WEBS, complete_formats, complete_presets, complete_runs, complete_webs

__all__ = [
    "Concurrency",
    "Contact",
    "Cpus",
    "Detach",
    "Duration",
    "Every",
    "Format",
    "Install",
    "Limit",
    "Memory",
    "OutputFolder",
    "PerHost",
    "PerHostInterval",
    "Preset",
    "Quick",
    "Repeat",
    "Resume",
    "Scale",
    "Seed",
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
    Path, typer.Option("--out", metavar="DIR", help="Folder in which the folder of the run is made.")
]
SubjectFolders = Annotated[
    list[Path] | None,
    typer.Option("--subjects", metavar="DIR", help="Folder of further subjects; may be given several times."),
]
Every = Annotated[
    bool, typer.Option("--all", help="Every client there is, not only the eleven of the published crawl's table.")
]
Install = Annotated[
    bool, typer.Option("--install", help="First bring what the clients need, as `httpdyno subjects install` does.")
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Measure again what was published: its subjects, concurrencies and number of URLs; then print both.",
        autocompletion=complete_presets,
    ),
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="SHARE", help="Take that share of a preset's URLs, such as 1/10.")
]
