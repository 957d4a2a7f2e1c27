"""docs/guide/ci.md: the workflow is valid for GitHub, and its steps do what the page says."""

import os
import re
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from doubles.command_line import START_TO_MEASURE
from doubles.runs import NOON, make_run
from doubles.trials import trial, trials_of
from guide_pages import blocks, text_of
from httpdyno.model import LinesSummary
from httpdyno.store import open_run

PATIENCE_S = 300
"""Against hangs only."""
ADAPTER = """
import sys
sys.path.insert(0, "library")
import client
for line in sys.stdin:
    print(f"{line.strip()},200,2026-11-21T10:00:00+00:00,1.5,{client.fetch(line)}", flush=True)
"""


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    (text,) = blocks("ci.md", "yaml")
    return dict(yaml.safe_load(text))


def steps_of(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    (job,) = workflow["jobs"].values()
    return list(job["steps"])


def test_the_workflow_is_one(workflow: dict[Any, Any]) -> None:
    # YAML 1.1 reads the key `on` as true.
    assert workflow[True] == "pull_request"
    assert workflow["defaults"]["run"]["shell"] == "bash"
    assert workflow["permissions"] == {"contents": "read"}
    steps = steps_of(workflow)
    assert all(("uses" in step) != ("run" in step) for step in steps)
    checkouts = {step["with"]["path"]: step["with"] for step in steps if step.get("uses", "").startswith("actions/che")}
    assert set(checkouts) == {"head", "base", "httpdyno"}
    assert checkouts["base"]["ref"] == "${{ github.event.pull_request.base.sha }}"


@pytest.fixture
def runner(tmp_path: Path, stand_in_engine: Path) -> Path:
    """A runner after the checkouts, with a httpdyno that needs no room."""
    assert stand_in_engine.parent == tmp_path
    adapter = tmp_path / "head" / "benchmark"
    adapter.mkdir(parents=True)
    (tmp_path / "base").mkdir()
    for side, length in (("base", 13), ("head", 14)):
        text = f"def fetch(url):\n    return {length}\n"
        (tmp_path / side / "client.py").write_text(text, encoding="utf-8")
    (adapter / "main.py").write_text(ADAPTER, encoding="utf-8")
    (adapter / "subject.toml").write_text(
        'kind = "client"\nlanguage = "Python"\nmethod = "library"\n[run]\nargv = ["python3", "-S", "main.py"]\n',
        encoding="utf-8",
    )
    (tmp_path / "httpdyno").mkdir()
    program = tmp_path / "instrument" / "bin" / "httpdyno"
    make = "wheel:\n\tmkdir -p dist\n\tcp ../built.whl dist/httpdyno-0-py3-none-any.whl\n"
    (tmp_path / "httpdyno" / "Makefile").write_text(make, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    program.parent.mkdir(parents=True)
    start = f'#!/bin/sh\nexec {shlex.join(START_TO_MEASURE)} "$@"\n'
    for path, text in ((program, start), (tmp_path / "bin" / "sudo", "#!/bin/sh\nexit 0\n")):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    write_wheel(tmp_path / "built.whl", start)
    return tmp_path


def write_wheel(path: Path, program: str) -> None:
    """Write a wheel with only the command ``httpdyno``."""
    files = {
        "httpdyno-0.data/scripts/httpdyno": program,
        "httpdyno-0.dist-info/METADATA": "Metadata-Version: 2.1\nName: httpdyno\nVersion: 0\n",
        "httpdyno-0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files["httpdyno-0.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files) + "httpdyno-0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = 0o100755 << 16  # a regular file that can be run
            wheel.writestr(member, text)


def run_step(step: dict[str, Any], runner: Path, folder: str = "") -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does with `shell: bash`; smaller, since the numbers are not tested."""
    script = step["run"].replace("--limit 5000 --repeat 10", "--limit 40 --repeat 3")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=runner / folder,
        env={name: value for name, value in os.environ.items() if name not in {"FORMAT", "LIMIT"}}
        | {
            "PATH": f"{runner / 'bin'}:{os.environ['PATH']}",
            "HTTPDYNO_ENGINE": str(runner / "httpdyno-engine"),
            "XDG_CACHE_HOME": str(runner / "cache"),
            "GITHUB_STEP_SUMMARY": str(runner / "summary.md"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_adapter_can_be_tried_before_as_it_is_written(runner: Path) -> None:
    (runner / "bin" / "httpdyno").symlink_to(runner / "instrument" / "bin" / "httpdyno")
    with (runner / "head" / "benchmark" / "subject.toml").open("a", encoding="utf-8") as definition:
        definition.write("[capabilities]\nkeepalive = [true]\n")
    typed = re.findall(r"^    \$ (.*)$", text_of("ci.md"), re.MULTILINE)
    assert typed[-1] == "httpdyno subjects check ../trial/benchmark"
    # The double of the engine has the web of a probe alone.
    typed[-1] = "httpdyno subjects probe benchmark --subjects ../trial/benchmark"
    done = run_step({"run": "\n".join(typed)}, runner, "head")
    # The double of the engine keeps no connections: this claim fails.
    assert done.returncode == 1, done.stderr
    assert "FAILED  benchmark: keepalive on: claimed, does not work\n" in done.stdout
    assert all(line.split(":")[0].endswith((" benchmark", " to change")) for line in done.stdout.splitlines())


def test_the_steps_measure_the_library_before_and_after_the_change(workflow: dict[Any, Any], runner: Path) -> None:
    *steps, decide = [step for step in steps_of(workflow) if "run" in step]
    for step in steps:
        done = run_step(step, runner)
        assert done.returncode == 0, done.stderr
    (folder,) = (runner / "runs").iterdir()
    run = open_run(folder)
    assert (run.manifest.state, set(run.trials["subject"]), len(run.trials)) == ("complete", {"base", "head"}, 6)
    # Each called its own state of the library.
    said = run.samples().join(run.trials.lazy().select("trial", "subject"), on="trial").select("subject", "body_length")
    assert set(said.collect().iter_rows()) == {("base", 13), ("head", 14)}
    assert run_step(decide, runner).returncode in {0, 1, 3}


@pytest.mark.parametrize(("factor", "code", "said"), [(0.8, 1, "slower"), (1.3, 0, "faster"), (1.0, 0, "no diff")])
def test_the_last_step_decides(workflow: dict[Any, Any], runner: Path, factor: float, code: int, said: str) -> None:
    speeds = [100.0, 103, 98, 101, 99]
    sides = {"base": speeds, "head": [speed * factor + (-1) ** block for block, speed in enumerate(speeds)]}
    trials = [
        trial(side, block, summary=LinesSummary(urls=10, right_per_s=speed, cpu_per_right_ns=1e8 / speed))
        for side, of_side in sides.items()
        for block, speed in enumerate(of_side)
    ]
    make_run(runner / "runs", trials)
    decide = [step for step in steps_of(workflow) if "run" in step][-1]
    done = run_step(decide, runner)
    assert done.returncode == code, done.stderr
    assert said in done.stdout
    assert (runner / "summary.md").read_text(encoding="utf-8") == done.stdout
    assert done.stdout.startswith("**")
    result = done.stderr.splitlines()
    assert len(result) == code, done.stderr
    assert all(line.startswith(f"httpdyno: head is {said} than base: cpu_per_right_ms +") for line in result)


def test_the_gate_for_an_earlier_run_works_as_it_is_written(runner: Path) -> None:
    (line,) = blocks("ci.md", "sh")
    fast, slow = [100.0, 101, 99, 100], [80.0, 81, 79, 80]
    make_run(runner / "runs", trials_of("client", fast), name="release-1.4")
    (runner / "bin" / "httpdyno").symlink_to(runner / "instrument" / "bin" / "httpdyno")
    make_run(runner / "runs", trials_of("client", fast), name="a", started_at=NOON.replace(hour=13))
    # The doubles have no p99, so that the second threshold cannot be held: the gate must not open.
    assert run_step({"run": line}, runner).returncode == 3
    make_run(runner / "runs", trials_of("client", slow), name="b", started_at=NOON.replace(hour=14))
    done = run_step({"run": line}, runner)
    assert done.returncode == 1
    assert "beyond 'right_per_s < -5%'" in done.stderr


def test_every_exit_code_is_explained() -> None:
    for code in range(4):
        assert f"\n| {code} | " in text_of("ci.md")
    assert shutil.which("bash")
