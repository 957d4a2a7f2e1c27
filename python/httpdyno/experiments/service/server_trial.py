"""Trials of a server in a room: a load generator sends requests, and the engine checks answers."""

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import polars as pl

from httpdyno.experiments.service.figures import Endpoint, ServicePoint
from httpdyno.experiments.service.judge import judge_service
from httpdyno.experiments.service.outcome import ServerArtifacts
from httpdyno.experiments.service.steady import connections_of, ramp_ns, unit_ns
from httpdyno.judge import Circumstances, JudgedTrial
from httpdyno.judge.tool_reports.httpdyno_load import SAMPLE_COLUMNS
from httpdyno.judge.validity import Rule
from httpdyno.lab.executor import LocalExecutor, TrialKind
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import NotRun, TrialFiles, trial_folder
from httpdyno.model import Condition, Loop, Subject, TrialPlan, format_exact
from httpdyno.subjects.build import Build
from httpdyno.subjects.template import Load, fill_content, fill_template

_DRIVE, _LOAD, _SAMPLES = "drive.json", "load.json", "samples.csv"
_SERVER_URL: Final = "{server_url}"
"""Placeholder that the room replaces by the address of the server."""
_TEXT: Final = "httpdyno"
_HELLO_SHA256: Final = "dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f"
_PATHS: Final = {Endpoint.PLAIN: "/plain", Endpoint.JSON: "/json", Endpoint.WORKLOADS: "/"}
_CHECKS: Final = {Endpoint.PLAIN: f"sha256={_HELLO_SHA256}", Endpoint.JSON: "json=/0/numbers=123123"}
_METHOD: Final = "GET"
"""Method of the published benchmark; servers must also accept their content with POST, which is checked."""
_HEADER: Final = "Content-Type: application/json"
_CONTENT: Final = json.dumps({"text": _TEXT, "count": 1})


def _execute_server(
    executor: LocalExecutor, plan: TrialPlan, build: Build, peer: Command | None
) -> TrialFiles | NotRun:
    """Run one fresh process of a server under load: an ``Execute``.

    The engine creates the room, checks answers and sends the load, unless another generator does: that generator is
    then one of the companions.
    """
    assert peer is None, "a trial of a server has no peer"
    point = plan.condition.get(ServicePoint)
    assert point is not None, "a server is measured only at a point of the service experiment"
    if why := cannot_do(plan.subject, point):
        return NotRun(why)
    works = Endpoint.WORKLOADS in plan.subject.capabilities.endpoints
    tool, outcome = None, executor.companions.get(point.generator)
    if outcome is not None and (tool := outcome.build) is None:
        return NotRun.of(outcome, "its generator")
    pinning = executor.pinning.with_subject_on(point.cpus, os.sched_getaffinity(0))
    # The driver starts inside the room without our descriptors, so its files have names.
    with trial_folder() as folder, ScratchFile() as nothing, ExitStack() as on_error:
        drive, load, samples = (folder / name for name in (_DRIVE, _LOAD, _SAMPLES))
        engine = executor.engine.path
        if tool is None:
            generator = own_generator(engine, plan.condition, point, report=load, samples=samples)
        else:
            generator = _tool_argv(tool, plan.condition, point)
        driver = (*drive_argv(engine, plan.subject, point, report=drive), "--", *generator)
        settings = {
            "THREADS": point.threads,
            "WORKERS": point.workers,
            "WORKLOADS_MS": point.workloads_ms or None if works else None,
            "TIMEOUT_MS": point.timeout_ms,
        }
        command = Command.of(build, {name: str(value) for name, value in settings.items() if value is not None})
        spec = RoomSpec(command, plan.condition, pinning, driver=driver)
        files = on_error.enter_context(executor.room(spec, nothing))
        files.parser = None if tool is None else tool.subject.report_parser
        for path in (drive, load, samples):
            if path.exists():
                files.more[path.name] = ScratchFile.of(path)
        on_error.pop_all()
    return files


def _judge_server(
    plan: TrialPlan, files: TrialFiles, circumstances: Circumstances, rules: Sequence[Rule]
) -> JudgedTrial:
    parser, samples = files.parser, files.more.get(_SAMPLES)
    artifacts = ServerArtifacts(
        report=files.report,
        drive=_json(files.more.get(_DRIVE)),
        load=_json(files.more.get(_LOAD)),
        samples=read_samples(samples.path if samples else None) if parser is None else None,
        text="" if parser is None else files.driver_output.read_text(),
        stderr=files.stderr.last_words(),
        said=files.said,
    )
    return judge_service(plan, artifacts, circumstances, parser=parser, rules=rules)


SERVER_TRIALS: Final = TrialKind(_execute_server, _judge_server)
"""Trials of a server under load."""


def cannot_do(subject: Subject, point: ServicePoint) -> str | None:
    """Describe which part of a point a server does not claim in its ``subject.toml``; None if it claims all."""
    claims = subject.capabilities
    if point.endpoint.value not in claims.endpoints:
        return f"it claims no endpoint {point.endpoint.value!r}; it has {', '.join(claims.endpoints) or 'none'}"
    if point.timeout_ms is not None and "timeout" not in claims.endpoints:
        return "it cannot abandon a request after a timeout; leave out --timeout-ms"
    for option in ("threads", "workers"):
        claim, asked = getattr(claims, option), getattr(point, option)
        if asked is not None and not claim:
            return f"its framework has no setting for {option}; leave out --{option}"
        if asked is not None and asked > 1 and claim == "one":
            return f"it always runs with --{option} 1; leave out --{option}, or give 1"
    return None


def drive_argv(engine: Path, subject: Subject, point: ServicePoint, *, report: Path) -> list[str]:
    """Return the command that checks a server's answers before, during and after a load; the generator's follows it."""
    proved = [endpoint.value for endpoint in Endpoint if endpoint.value in subject.capabilities.endpoints]
    argv = [str(engine), "drive", "--report", str(report), "--expect", ",".join(proved)]
    if point.workloads_ms and Endpoint.WORKLOADS.value in proved:
        argv += ["--workloads-ms", point.workloads_ms]
    if point.timeout_ms is not None:
        argv += ["--timeout-ms", str(point.timeout_ms)]
    # A server may have a long backlog when an answer is checked during or after the load.
    patience_s = max(3 * unit_ns(point) / 1e9, 5)
    return [*argv, "--every", "250ms", "--patience", f"{format_exact(patience_s)}s"]


def own_generator(engine: Path, condition: Condition, point: ServicePoint, *, report: Path, samples: Path) -> list[str]:
    """Return the command of our own generator: it checks each answer and records each request."""
    assert condition.send_s is not None, "a trial of a server sends for a time"
    argv = [str(engine), "load", "--connections", str(connections_of(point))]
    argv += ["--duration", f"{format_exact(condition.send_s)}s"]
    argv += ["--timeout", f"{format_exact(condition.workload.timeout_s)}s"]
    if point.loop is Loop.OPEN:
        argv += ["--rate", format_exact(point.rate_per_s or 0.0)]
    else:
        argv += ["--ramp", f"{format_exact(ramp_ns(point) / 1e9)}s"]
    texts = json.dumps({"texts": [_TEXT] * len(point.waits_ms)})
    argv += ["--check", "status=200", "--check", _CHECKS.get(point.endpoint, f"json=={texts}")]
    if point.endpoint is Endpoint.WORKLOADS:
        argv += ["--method", _METHOD, "--header", _HEADER, "--body", _CONTENT]
    return [*argv, "--report", str(report), "--samples", str(samples), _SERVER_URL + _PATHS[point.endpoint]]


def _tool_argv(tool: Build, condition: Condition, point: ServicePoint) -> list[str]:
    assert condition.send_s is not None, "a trial of a server sends for a time"
    works = point.endpoint is Endpoint.WORKLOADS
    load = Load(
        # The server's address is known only once the room exists.
        url=_SERVER_URL + _PATHS[point.endpoint],
        connections=point.connections,
        duration_s=condition.send_s,
        requests=max(1, round(condition.send_s * point.connections)),
        timeout_s=condition.workload.timeout_s,
        method=_METHOD,
        headers=(_HEADER,) if works else (),
        content=_CONTENT if works else None,
    )
    fill = fill_content if works else fill_template
    return [tool.place.filled(part) for part in fill(tool.subject, load)]


def _json(file: ScratchFile | None) -> dict[str, Any] | None:
    """Read the report of one of our programs; None if it had no time to write one."""
    try:
        found = json.loads(file.read_text()) if file else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def read_samples(file: Path | None) -> pl.DataFrame:
    """Read every request that ended; the last line may be incomplete if the generator was killed."""
    if file is None or not file.stat().st_size:
        return pl.DataFrame(schema=SAMPLE_COLUMNS)
    read = pl.read_csv(file, schema=SAMPLE_COLUMNS, ignore_errors=True, truncate_ragged_lines=True)
    return read.drop_nulls(["intended_ns", "end_ns", "status_or_error", "connection"])
