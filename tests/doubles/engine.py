"""Stands in for the engine in tests of what calls it: same argv and files, no room, no web.

`FAKE_ENGINE` names what goes wrong: `refuse`, `no-namespaces` (as `refuse`, and the doctor says why), `no-report`,
`garbage-report`, `hang`, `deaf` (as `hang`, but without heeding SIGTERM), `prepare` (hangs before the subject starts),
`slow` (takes four seconds to prepare), `silent` (never comes to an end of what to expect). `FAKE_ENGINE_ROOMS` names a
folder: each file in it is a room that can be made for a subject, after the last one it is as with `refuse`. Every URL
is expected to answer 200 with 13 bytes; `FAKE_ENGINE_LOG` gets one line a start. With `FAKE_ENGINE_PROMPT` a subject
starts when it begins its first URL: how long its interpreter took is in no figure.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path


def main() -> int:
    if log := os.environ.get("FAKE_ENGINE_LOG"):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(json.dumps(sys.argv[1:]) + "\n")
    verb = sys.argv[1]
    if verb == "--version":
        print("httpdyno-engine 0.0.0")
        return 0
    verbs = {"web": web, "urls": urls, "expect": expect, "doctor": doctor, "room": room, "fetch": fetch}
    return verbs[verb](sys.argv[2:])


def web_missing(options: argparse.Namespace) -> int:
    if options.web in {"top-sites", "plain"}:
        return 0
    print(f"httpdyno-engine: there is no web {options.web!r}", file=sys.stderr)
    return 125


def web(arguments: list[str]) -> int:
    if status := web_missing(options := parse(arguments)):
        return status
    print(
        json.dumps({"name": options.web, "seed": 1 if options.seed is None else int(options.seed), "digest": "0" * 32})
    )
    return 0


def urls(arguments: list[str]) -> int:
    if status := web_missing(options := parse(arguments)):
        return status
    for number in range(options.limit or 10):
        print(f"https://host{number}.example/")
    return 0


def expect(arguments: list[str]) -> int:
    parse(arguments)
    while os.environ.get("FAKE_ENGINE") == "silent":
        print("a line that somebody reads", flush=True)
        time.sleep(0.01)
    print("url,outcome,status,length,cause,arrives,request_url,requests,planned_ms")
    for line in sys.stdin:
        if url := line.strip():
            print(f'"{url}",status,200,13,,0,"{url}",1,1.0')
    return 0


def doctor(_: list[str]) -> int:
    facts = [
        {"name": "cpus", "value": 2, "ok": "yes", "consequence": None, "cure": None},
        {"name": "perf", "value": None, "ok": "limited", "consequence": "no counters", "cure": "another machine"},
        {"name": "tun", "value": False, "ok": "no", "consequence": "no links", "cure": "load the module"},
    ]
    if os.environ.get("FAKE_ENGINE") == "no-namespaces":
        facts.append(
            {
                "name": "user_namespaces",
                "value": False,
                "ok": "no",
                "consequence": "no room can be made",
                "cure": "run as root",
            }
        )
    print(json.dumps(facts))
    return 0


def fetch(_: list[str]) -> int:
    for line in sys.stdin:
        print(f"{line.strip()},200,2026-11-21T10:00:00.000000+00:00,1.5,13", flush=True)
    return 0


def room(arguments: list[str]) -> int:
    options = parse(arguments)
    wrong = os.environ.get("FAKE_ENGINE", "")
    if (rooms := os.environ.get("FAKE_ENGINE_ROOMS")) and options.argv[-1:] != ["fetch"]:
        left = sorted(Path(rooms).iterdir())
        if left:
            left[0].unlink()
        else:
            wrong = "refuse"
    if wrong in {"refuse", "no-namespaces"}:
        print("httpdyno-engine: no user namespaces here; run as root", file=sys.stderr)
        return 125
    if wrong == "no-report":
        return 0
    if wrong == "garbage-report":
        Path(options.report).write_text("{", encoding="utf-8")
        return 0
    stopped: list[int] = []
    if wrong == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    tell(options.progress, "preparing", 0)
    while wrong == "prepare" and not stopped:
        time.sleep(0.01)
    if wrong == "slow":
        time.sleep(4)
    tell(options.progress, "running", 0)
    while wrong in {"hang", "deaf"} and not stopped:
        time.sleep(0.01)
    report(options, stopped)
    tell(options.progress, "done", 10)
    return 130 if stopped else 0


def report(options: argparse.Namespace, stopped: list[int]) -> None:
    began = time.time_ns()
    status: int | None = None
    if not stopped:
        environment = dict(pair.split("=", 1) for pair in options.env)
        with (
            Path(options.stdin).open("rb") as stdin,
            Path(options.stdout).open("wb") as stdout,
            Path(options.stderr).open("wb") as stderr,
        ):
            status = subprocess.run(
                options.argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=options.directory,
                env={"PATH": os.environ["PATH"], **environment},
                check=False,
            ).returncode
    Path(options.arrivals).write_text("at_ns,done_ns,connection,url,status\n", encoding="utf-8")
    if os.environ.get("FAKE_ENGINE_PROMPT"):
        began = first_start_ns(Path(options.stdout)) or began
    ended = time.time_ns()
    signaled = status is not None and status < 0
    values = {
        "version": 1,
        "outcome": "interrupted" if stopped else "signaled" if signaled else "exited",
        "reason": None,
        "subject": {
            "exit_code": None if signaled else status,
            "signal": -(status or 0) if signaled else None,
            "started_at_ns": began,
            "ended_at_ns": ended,
            "wall_ns": ended - began,
            "memory_limit_bytes": options.memory,
            "memory_limit_reason": "the stand-in has no control groups" if options.memory else None,
        },
        "engine": {"version": "0.0.0"},
        "origin": {"requests": 10, "reused": 0, "http_versions": {"1.1": 10}},
    }
    Path(options.report).write_text(json.dumps(values), encoding="utf-8")


def first_start_ns(stdout: Path) -> int | None:
    """Give when the first line of a subject's output says that its URL was begun."""
    with stdout.open(encoding="utf-8") as lines:
        fields = lines.readline().split(",")
    if len(fields) < 3:
        return None
    since = datetime.fromisoformat(fields[2]) - datetime.fromtimestamp(0, UTC)
    return since // timedelta(microseconds=1) * 1000


def tell(descriptor: int, phase: str, requests: int) -> None:
    values = {"phase": phase, "elapsed_ns": 10**9, "requests": requests, "requests_expected": 10, "sent_bytes": 0}
    os.write(descriptor, json.dumps(values).encode() + b"\n")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("web", "stdin", "stdout", "stderr", "report", "arrivals", "directory", "deadline", "link"):
        parser.add_argument(f"--{name}")
    for name in ("seed", "limit", "progress", "link-seed", "memory"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--timeout", type=float)
    for name in ("check", "http-version"):
        parser.add_argument(f"--{name}")
    for name in ("subject-cpus", "engine-cpus"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--clean-environment", action="store_true")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--trust-file", action="append", default=[])
    parser.add_argument("argv", nargs="*")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
