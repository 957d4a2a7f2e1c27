"""Tests of the gate decide by logic: code that depends on a clock is refused, and no other code."""

from pathlib import Path

import pytest

from gate_rules import Rule, breaches

TESTS = Path(__file__).resolve().parents[1]
NOT_OF_THE_GATE = [
    TESTS / name for name in ("conformance/reference", "endurance", "fixtures", "disturbance.py", "measure.py")
]
"""Programs that run for hours, those of subjects, which may hang, and code of measurements."""

REFUSED = {
    # An elapsed time that has an upper bound.
    "assert time.monotonic() - began < 5": Rule.BOUND,
    "assert 5 >= perf_counter() - began": Rule.BOUND,
    "assert time.monotonic() - began <= MOST_S": Rule.BOUND,
    "assert time.process_time() - before < 2 * limits.MOST_S": Rule.BOUND,
    "assert 0.5 <= time.monotonic() - began < 2": Rule.BOUND,
    "elapsed = time.monotonic() - began\n    assert elapsed < 5": Rule.BOUND,
    "took_ms = (time.perf_counter_ns() - began) / 1e6\n    assert took_ms < 5": Rule.BOUND,
    "assert (took := time.monotonic() - began) and took < 5": Rule.BOUND,
    "assert resource.getrusage(resource.RUSAGE_SELF).ru_utime < 5": Rule.BOUND,
    "assert max(time.monotonic() - one for one in began) < 5": Rule.BOUND,
    "assert time.monotonic() - began == pytest.approx(5, abs=1)": Rule.BOUND,
    "def spent():\n        return time.monotonic() - began\n    assert spent() < 5": Rule.BOUND,
    # A sleep that decides.
    "time.sleep(0.06)": Rule.SLEEP,
    "sleep(1)": Rule.SLEEP,
    "time.sleep(PAUSE_S)": Rule.SLEEP,
    "time.sleep(2 * PAUSE_S)": Rule.SLEEP,
    # A short patience.
    "process.communicate(timeout=10)": Rule.PATIENCE,
    "process.wait(timeout=PAUSE_S)": Rule.PATIENCE,
    "process.wait(5)": Rule.PATIENCE,
    "thread.join(5.0)": Rule.PATIENCE,
    "queue.get(timeout=5)": Rule.PATIENCE,
    "future.result(timeout=5)": Rule.PATIENCE,
    "subprocess.run(['true'], timeout=29.9)": Rule.PATIENCE,
    "subprocess.check_output(['true'], timeout=5)": Rule.PATIENCE,
    "socket.create_connection(address, 5)": Rule.PATIENCE,
    "socket.create_connection(address, timeout=5)": Rule.PATIENCE,
    "plug.settimeout(5)": Rule.PATIENCE,
    "http.client.HTTPConnection('localhost', timeout=5)": Rule.PATIENCE,
    "urlopen(url, timeout=5)": Rule.PATIENCE,
    "select.select([plug], [], [], 5)": Rule.PATIENCE,
    "lock.acquire(timeout=5)": Rule.PATIENCE,
    "wait_for(ready, seconds=10)": Rule.PATIENCE,
    "asyncio.wait_for(coming, timeout=5)": Rule.PATIENCE,
    "asyncio.wait_for(coming, 5)": Rule.PATIENCE,
    "answer(within_s=5)": Rule.PATIENCE,
    "server(patience_s=5)": Rule.PATIENCE,
    "deadline = time.monotonic() + 10": Rule.PATIENCE,
    "def wait_until(condition, patience_s=20.0): pass": Rule.PATIENCE,
    "def wait_until(condition, *, seconds: float = 20): pass": Rule.PATIENCE,
}
ALLOWED = [
    # Physical bounds, comparisons with the same machine, and waits for an event.
    "assert time.monotonic() - began >= 0.05",
    "assert 0.05 <= time.monotonic() - began",
    "elapsed = time.monotonic() - began\n    assert elapsed > 0.05",
    "assert time.monotonic() - began < 3 * yardstick_s",
    "while time.monotonic() < deadline: pass",
    "while time.monotonic() - began < 300: pass",
    "assert time.monotonic() < deadline",
    "assert trial.took_s < 5",
    "took_s = 3\n    assert took_s < 5",
    "time.sleep(0.05)",
    "time.sleep(interval_s)",
    "program = 'import time; time.sleep(1000)'",
    "clock.sleep",
    "deadline = time.monotonic() + 300",
    "process.communicate()",
    "process.communicate(timeout=60)",
    "process.wait(timeout=PATIENCE_S)",
    "process.wait(timeout=2 * PATIENCE_S)",
    "over.wait(0.01)",
    "over.wait(timeout=0)",
    "', '.join(names)",
    "with pytest.raises(subprocess.TimeoutExpired):\n        process.wait(timeout=0.2)",
    # A request's timeout is a setting of the client.
    "crawl(urls, timeout_s=1.0)",
    "run(program, timeout_s=0.05)",
    "run(['httpdyno', 'bench', '--timeout', '1'])",
    "Workload((), timeout_s=1)",
    "timedelta(seconds=1)",
    "def crawl(timeout_s=1.0): pass",
]
MODULE = (
    "import time\nPAUSE_S = 0.1\nPATIENCE_S: Final = 5 * 60\nMOST_S = 3\n{marks}\ndef test_it(began):\n    {body}\n"
)


@pytest.mark.parametrize(("body", "rule"), REFUSED.items())
def test_what_depends_on_a_clock_is_refused(body: str, rule: Rule) -> None:
    assert {breach.rule for breach in breaches(MODULE.format(marks="", body=body))} == {rule}


@pytest.mark.parametrize("body", ALLOWED)
def test_what_decides_by_logic_is_allowed(body: str) -> None:
    assert breaches(MODULE.format(marks="", body=body)) == []


@pytest.mark.parametrize("body", REFUSED)
@pytest.mark.parametrize(
    "marks",
    [
        "@pytest.mark.measured",
        "pytestmark = pytest.mark.measured",
        "pytestmark = [pytest.mark.x, pytest.mark.measured]",
    ],
)
def test_measurements_may_do_all_of_it(marks: str, body: str) -> None:
    assert breaches(MODULE.format(marks=marks, body=body)) == []


def test_a_mark_is_of_its_own_function_or_class_alone() -> None:
    wait = "def test_{}():\n    process.wait(5)\n"
    methods = "@pytest.mark.measured\nclass TestIt:\n    def test_it(self):\n        process.wait(5)\n"
    module = "@pytest.mark.measured\n" + wait.format("measured") + methods + wait.format("gate")
    assert [(breach.line, breach.rule) for breach in breaches(module)] == [(9, Rule.PATIENCE)]


def test_the_tests_of_the_gate_keep_the_rules() -> None:
    files = [path for path in TESTS.rglob("*.py") if not any(map(path.is_relative_to, NOT_OF_THE_GATE))]
    assert len(files) > 200
    found = [
        f"{path.relative_to(TESTS.parent)}:{breach.line}: {breach.rule}"
        for path in sorted(files)
        for breach in breaches(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(["", *found])
