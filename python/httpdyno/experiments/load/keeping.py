"""Keeps the trials of a load as a run: manifest, records, the generator's reports, and samples where asked for."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import httpdyno
from httpdyno.credentials import without_credentials
from httpdyno.experiments.load.judge import SERVER
from httpdyno.experiments.load.options import NAME, LoadOptions
from httpdyno.experiments.load.samples import load_samples
from httpdyno.lab.engine import Engine
from httpdyno.model import Trial, format_cpus
from httpdyno.store import Manifest, RunWriter, SubjectVersion, describe_git, describe_machine
from httpdyno.store.files import keep_load_report

__all__ = ["LoadKeeper", "target_of"]

_PLANNED = (
    "urls",
    "connections",
    "streams",
    "http",
    "keepalive",
    "rate_per_s",
    "rate_end_per_s",
    "arrivals",
    "duration_s",
    "requests",
    "timeout_s",
    "method",
)
"""What of the generator's plan is a setting of the run."""


def target_of(options: LoadOptions) -> str:
    """Describe in a few words what is asked for: the URL, the first of several, or the file that they stand in."""
    if options.requests_file is not None:
        return f"requests of {options.requests_file}"
    method = f"{options.method} " if options.method and options.method != "GET" else ""
    if not options.urls:
        return f"{method}URLs of {_listed(options.urls_file)}"
    more = len(options.urls) - 1
    also = f" and those of {_listed(options.urls_file)}" if options.urls_file else ""
    first = without_credentials(options.urls[0])
    return f"{method}{first}{f' and {more} more' if more else ''}{also}"


def _listed(file: str | None) -> str:
    return "standard input" if file is None or file.startswith("/proc/self/fd/") else file


class LoadKeeper:
    """A run that is being made of loads."""

    def __init__(self, writer: RunWriter) -> None:
        """Use ``begin``."""
        self._writer = writer

    @classmethod
    def begin(
        cls,
        engine: Path,
        options: LoadOptions,
        plan: Mapping[str, Any],
        *,
        repeat: int,
        runs: Path,
        command: Sequence[str],
    ) -> Self:
        """Make the folder of the run.

        ``plan`` is what the generator made of the options, with the time at which it ``started``.
        """
        manifest = Manifest(
            experiment=NAME,
            command=tuple(command),
            version=httpdyno.__version__,
            started_at=_started_at(plan.get("started")),
            machine=describe_machine(),
            trials_planned=repeat,
            git=describe_git(Path(httpdyno.__file__).parent),
            subjects=(SubjectVersion(SERVER, "", target_of(options)),),
            settings=_settings(options, plan, repeat),
            engine=Engine(engine).identity(),
        )
        return cls(RunWriter.create(runs, manifest))

    def keep(self, trial: Trial, report: Mapping[str, Any], options: LoadOptions) -> None:
        """Keep a finished trial; where it cannot be written, those before it are kept."""
        samples = None
        if options.samples is not None:
            started = _started_at(report.get("started"))
            samples = load_samples(Path(options.samples), trial.trial, started, url=options.urls[:1])
        keep_load_report(self._writer.folder, trial.trial, report)
        self._writer.add(trial, samples)

    def close(self, *, whole: bool) -> Path:
        """End the run; one that was stopped stays ``partial``, with what was measured."""
        return self._writer.close(complete=whole, ended_at=datetime.now(UTC))


def _started_at(text: object) -> datetime:
    try:
        started = datetime.fromisoformat(str(text))
    except ValueError:
        return datetime.now(UTC)
    return started if started.tzinfo else started.replace(tzinfo=UTC)


def _settings(options: LoadOptions, plan: Mapping[str, Any], repeat: int) -> dict[str, str | int | float | bool | None]:
    return {
        "target": target_of(options),
        **{name: plan.get(name) for name in _PLANNED},
        "headers": without_credentials("\n".join(options.headers)),
        "body": options.body_file if options.body is None else without_credentials(options.body)[:200],
        "checks": ", ".join(options.checks),
        "insecure": options.insecure,
        "cpus": format_cpus(plan.get("cpus") or ()),
        "repeat": repeat,
    }
