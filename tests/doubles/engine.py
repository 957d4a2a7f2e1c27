"""Stands in for the engine in tests of its callers: same argv and files, no room, no web.

`FAKE_ENGINE` names the failure: `refuse`, `no-namespaces` (as `refuse`, and the doctor says why), `no-report`,
`garbage-report`, `hang`, `deaf` (as `hang`, but without heeding SIGTERM), `prepare` (hangs before the subject starts),
`silent` (never ends its expectations). `FAKE_ENGINE_ROOMS` names a folder: each file in it is a room that can be made
for a subject, after the last one it is as with `refuse`. Every URL is expected to answer 200 with 13 bytes;
`FAKE_ENGINE_LOG` gets one line a start. With `FAKE_ENGINE_TIMES` a subject begins and ends with the times of its first
and last answers: the report has no time of this machine.

It is started some thousand times, and imports take longer than its work: it imports only modules that Python has loaded
anyway, or that are compiled into it; `pathlib`, `json` and `argparse` take longer than Python itself.
"""

# ruff: noqa: PTH108, PTH123, PTH208

import _signal as signal  # `signal` itself imports `enum`
import os
import sys
import time

WITH_A_VALUE = frozenset(
    {
        "--arrivals",
        "--check",
        "--deadline",
        "--directory",
        "--engine-cpus",
        "--env",
        "--http-version",
        "--limit",
        "--link",
        "--link-seed",
        "--memory",
        "--network",
        "--per-host",
        "--per-host-interval",
        "--progress",
        "--report",
        "--seed",
        "--stderr",
        "--stdin",
        "--stdout",
        "--subject-cpus",
        "--timeout",
        "--trust-file",
        "--web",
    }
)
WITHOUT_A_VALUE = frozenset({"--clean-environment"})

REFUSED = "httpdyno-engine: no user namespaces here; run as root"


class Options:
    """The options of a verb, and the command of a subject after `--`."""

    def __init__(self, arguments: list[str]) -> None:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        self.argv = arguments[end + 1 :]
        self._given: dict[str, list[str]] = {}
        words = iter(arguments[:end])
        for word in words:
            if word not in WITH_A_VALUE | WITHOUT_A_VALUE:
                print(f"httpdyno-engine: the stand-in does not know {word}", file=sys.stderr)
                sys.exit(2)
            self._given.setdefault(word, []).append(next(words) if word in WITH_A_VALUE else "")

    def all(self, name: str) -> list[str]:
        return self._given.get(name, [])

    def text(self, name: str) -> str:
        return (self.all(name) or [""])[-1]

    def number(self, name: str) -> int | None:
        return int(self.text(name)) if self.all(name) else None


def main() -> int:
    if log := os.environ.get("FAKE_ENGINE_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(as_json(sys.argv[1:]) + "\n")
    verb = sys.argv[1]
    if verb == "--version":
        print("httpdyno-engine 0.0.0")
        return 0
    verbs = {"web": web, "urls": urls, "expect": expect, "doctor": doctor, "room": room, "fetch": fetch}
    return verbs[verb](sys.argv[2:])


def web_missing(options: Options) -> int:
    if options.text("--web") in {"top-sites", "plain"}:
        return 0
    print(f"httpdyno-engine: there is no web {options.text('--web')!r}", file=sys.stderr)
    return 125


def web(arguments: list[str]) -> int:
    if status := web_missing(options := Options(arguments)):
        return status
    seed = options.number("--seed")
    print(as_json({"name": options.text("--web"), "seed": 1 if seed is None else seed, "digest": "0" * 32}))
    return 0


def urls(arguments: list[str]) -> int:
    if status := web_missing(options := Options(arguments)):
        return status
    for number in range(options.number("--limit") or 10):
        print(f"https://host{number}.example/")
    return 0


def expect(arguments: list[str]) -> int:
    Options(arguments)
    while os.environ.get("FAKE_ENGINE") == "silent":
        print("a line that is read", flush=True)
        time.sleep(0.01)
    print("url,outcome,status,length,cause,arrives,request_url,requests,planned_ms")
    for line in sys.stdin:
        if url := line.strip():
            print(f'"{url}",status,200,13,,0,"{url}",1,1.0')
    return 0


def doctor(_: list[str]) -> int:
    facts = [
        fact("cpus", 2, "yes", None, None),
        fact("perf", None, "limited", "no counters", "another machine"),
        fact("tun", False, "no", "no links", "load the module"),
    ]
    if os.environ.get("FAKE_ENGINE") == "no-namespaces":
        facts.append(fact("user_namespaces", False, "no", "no room can be made", "run as root"))
    print(as_json(facts))
    return 0


def fact(name: str, value: object, ok: str, consequence: str | None, cure: str | None) -> dict[str, object]:
    return {"name": name, "value": value, "ok": ok, "consequence": consequence, "cure": cure}


def fetch(_: list[str]) -> int:
    for line in sys.stdin:
        print(f"{line.strip()},200,2026-11-21T10:00:00.000000+00:00,1.5,13", flush=True)
    return 0


def room(arguments: list[str]) -> int:
    options = Options(arguments)
    wrong = os.environ.get("FAKE_ENGINE", "")
    if (rooms := os.environ.get("FAKE_ENGINE_ROOMS")) and "fetch" not in options.argv:
        left = sorted(os.listdir(rooms))
        if left:
            os.unlink(f"{rooms}/{left[0]}")
        else:
            wrong = "refuse"
    if wrong in {"refuse", "no-namespaces"}:
        print(REFUSED, file=sys.stderr)
        return 125
    if wrong == "no-report":
        return 0
    if wrong == "garbage-report":
        write(options.text("--report"), "{")
        return 0
    subject = Subject(options)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if wrong == "deaf" else subject.stop)
    tell(options, "preparing", 0)
    while wrong == "prepare" and not subject.stopped:
        time.sleep(0.01)
    tell(options, "running", 0)
    while wrong in {"hang", "deaf"} and not subject.stopped:
        time.sleep(0.01)
    report(options, subject)
    tell(options, "done", 10)
    return 130 if subject.stopped else 0


class Subject:
    """The subject's process: it ends with SIGTERM to the engine, as all processes in a room do."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._process = 0
        self.stopped = False

    def stop(self, *_: object) -> None:
        self.stopped = True
        if self._process:
            os.kill(self._process, signal.SIGKILL)

    def run(self) -> int | None:
        """Return the exit status, negative for a signal; None if it is no longer to be started."""
        if self.stopped:
            return None
        process = os.fork()
        if process == 0:
            self._become()
        self._process = process
        if self.stopped:  # by a signal between the two lines above
            self.stop()
        _, status = os.waitpid(process, 0)
        self._process = 0
        return os.waitstatus_to_exitcode(status)

    def _become(self) -> None:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            environment = dict(pair.split("=", 1) for pair in self._options.all("--env"))
            os.dup2(os.open(self._options.text("--stdin"), os.O_RDONLY), 0)
            for descriptor, name in ((1, "--stdout"), (2, "--stderr")):
                os.dup2(os.open(self._options.text(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
            os.chdir(self._options.text("--directory") or ".")
            os.execvpe(self._options.argv[0], self._options.argv, {"PATH": os.environ["PATH"], **environment})
        finally:
            os._exit(127)


def report(options: Options, subject: Subject) -> None:
    began = time.time_ns()
    status = subject.run()
    ended = time.time_ns()
    if os.environ.get("FAKE_ENGINE_TIMES"):
        began, ended = times_in(options.text("--stdout")) or (began, ended)
    if options.text("--network") != "host":
        write(options.text("--arrivals"), "at_ns,done_ns,connection,url,status\n")
    signaled = status is not None and status < 0
    memory = options.number("--memory")
    values = {
        "version": 1,
        "outcome": "interrupted" if subject.stopped else "signaled" if signaled else "exited",
        "reason": None,
        "subject": {
            "exit_code": None if signaled else status,
            "signal": -(status or 0) if signaled else None,
            "started_at_ns": began,
            "ended_at_ns": ended,
            "wall_ns": ended - began,
            "memory_limit_bytes": memory,
            "memory_limit_reason": "the stand-in has no control groups" if memory else None,
        },
        "engine": {"version": "0.0.0"},
        "origin": {"requests": 10, "reused": 0, "http_versions": {"1.1": 10}},
    }
    write(options.text("--report"), as_json(values))


def times_in(stdout: str) -> tuple[int, int] | None:
    """Return the start of the first answer and the end of the last one, from the subject's lines."""
    with open(stdout, encoding="utf-8") as lines:
        answers = [line.split(",") for line in lines]
    if not answers or len(answers[0]) < 4:
        return None
    return since_1970_ns(answers[0][2]), since_1970_ns(answers[-1][2]) + int(float(answers[-1][3]) * 1_000_000)


def since_1970_ns(moment: str) -> int:
    from datetime import datetime  # only few tests need it

    return int(datetime.fromisoformat(moment).timestamp() * 1_000_000) * 1000


def tell(options: Options, phase: str, requests: int) -> None:
    values = {"phase": phase, "elapsed_ns": 10**9, "requests": requests, "requests_expected": 10, "sent_bytes": 0}
    os.write(options.number("--progress") or 0, as_json(values).encode() + b"\n")


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def as_json(value: object) -> str:
    """Write JSON: `json` itself takes longer to import than Python to start."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{as_json(key)}:{as_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_json, value)) + "]"
    if isinstance(value, str):
        escaped = (f"\\u{ord(sign):04x}" if ord(sign) < 32 or sign in '"\\' else sign for sign in value)
        return '"' + "".join(escaped) + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
