"""A bench on a machine with other work: trials repeated in blocks of their own."""

from dataclasses import replace
from typing import Any, Final

from doubles.trials import trial
from httpdyno.judge.validity import RULES, with_validity
from httpdyno.model import Counters, CpuTime, LinesSummary, Outcome, ProgramUse, Tally, Trial

__all__ = ["BUSY_ORIGIN", "DISTURBED", "JAVA", "NODE", "REQWEST", "crawl_of", "disturbed_bench"]

S: Final = 10**9
REQWEST, NODE, JAVA, DOTNET = "rust-reqwest", "node-reqwest", "java-httpclient", "dotnet-httpclient"
_ENGINE = CpuTime(0, "engine", 2 * S, 0, 10 * S, 0)
_SUBJECT = CpuTime(1, "subject", 4 * S, 0, 10 * S, 0)
DISTURBED: Final[dict[str, Any]] = {"cpus": (_ENGINE, replace(_SUBJECT, busy_ns=7 * S))}
"""Other programs used the subject's CPU: pace and CPU time are both spoiled."""
BUSY_ORIGIN: Final[dict[str, Any]] = {"cpus": (replace(_ENGINE, busy_ns=10 * S), _SUBJECT)}
"""The origin's CPU had no headroom: the subject's CPU time is valid."""
_CLIENTS: Final = (
    # Right answers a second, ms of CPU time per right answer, concurrency.
    (REQWEST, "Rust", "reqwest", 234.0, 1.63, 150),
    (NODE, "Node.js", "reqwest (Rust)", 192.0, 1.86, 125),
    ("bun-fetch", "Bun", "fetch", 77.2, 2.41, 50),
    ("go-net-http", "Go", "net/http", 195.0, 2.47, 125),
    ("deno-fetch", "Deno", "fetch", 212.0, 3.37, 150),
    ("node-fetch", "Node.js", "fetch", 75.5, 6.98, 50),
    (JAVA, "Java", "HttpClient", 61.6, 13.26, 50),
)
_AGAIN: Final = {JAVA: (1, 2), NODE: (2,)}
"""In which of the three blocks a client was disturbed; each is repeated, in the next blocks."""
_WOBBLE: Final = (1.0, 1.004, 0.997, 1.002, 0.999)


def crawl_of(
    subject: str,
    block: int,
    rate: float,
    cpu_ms: float,
    *,
    language: str,
    method: str,
    concurrency: int = 50,
    **counters: Any,
) -> Trial:
    """Make a crawl of ten seconds with these figures and counters, judged by the rules."""
    summary = LinesSummary(
        urls=1000,
        time_ns=10 * S,
        exhausted_ns=10 * S,
        mean_ns=0.64 * S,
        planned_mean_ns=0.6 * S,
        p50_ns=0.5 * S,
        p99_ns=4.0 * S,
        right_per_s=rate,
        cpu_per_right_ns=cpu_ms * 1e6,
    )
    quiet = Counters(
        wall_ns=10 * S,
        cpu_user_ns=3 * S,
        cpu_system_ns=S,
        peak_memory_bytes=64 * 2**20,
        engine_cpu_user_ns=S,
        engine_cpu_system_ns=S,
        origin_waiting_ns=0,
        cpus=(_ENGINE, _SUBJECT),
    )
    made = trial(
        subject,
        block,
        language=language,
        method=method,
        concurrency=concurrency,
        urls_given=1000,
        summary=summary,
        tally=Tally(right=1000),
    )
    disturbed = counters.get("cpus") == DISTURBED["cpus"]
    programs = (ProgramUse("bash", 3 * S), ProgramUse("cron", S // 10_000)) if disturbed else ()
    return with_validity(replace(made, counters=replace(quiet, **counters), other_programs=programs), RULES)


def disturbed_bench() -> list[Trial]:
    """Make a run of three blocks: Java was disturbed in two and repeated in two, Node.js in one; .NET is absent."""
    trials: list[Trial] = []
    for place, (subject, language, method, rate, cpu_ms, concurrency) in enumerate(_CLIENTS):
        again = _AGAIN.get(subject, ())
        for block in range(3 + len(again)):
            wobble = _WOBBLE[(block + 2 * place) % len(_WOBBLE)]
            counters = DISTURBED if block in again else {}
            slowed = 0.8 if block in again else 1.0
            made = crawl_of(
                subject,
                block,
                rate * wobble * slowed,
                cpu_ms / wobble,
                language=language,
                method=method,
                concurrency=concurrency,
                **counters,
            )
            trials.append(made)
    absent = trial(
        DOTNET,
        0,
        language=".NET",
        method="HttpClient",
        outcome=Outcome.UNAVAILABLE,
        reason=f"{DOTNET}: needs dotnet >= 10, found none",
        validity=None,
        summary=None,
        tally=None,
    )
    return [replace(one, trial=number) for number, one in enumerate([*trials, absent])]
