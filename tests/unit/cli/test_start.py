"""Start of `room`, `origin` and `load`: no heavy import before the engine runs."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HEAVY = ("click", "rich", "polars", "pydantic", "numpy", "asyncio", "httpdyno.model")


@pytest.mark.parametrize("arguments", [["room", "--web", "plain", "--", "true"], ["load", "http://127.0.0.1:1/"]])
def test_verbs_of_the_engine_are_handed_over_without_heavy_imports(arguments: list[str]) -> None:
    program = (
        "import os, sys\n"
        f"sys.argv = {['httpdyno', *arguments]!r}\n"
        "def execv(path, argv):\n"
        "    print(argv)\n"
        f"    print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "    sys.exit(0)\n"
        "os.execv = execv\n"
        "from httpdyno.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"HTTPDYNO_ENGINE": "/bin/true", "PYTHONPATH": str(Path(__file__).parents[3] / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{['httpdyno', *arguments]}\n[]\n"


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        ([], ("rich", "httpdyno.model", "httpdyno.cli.terminal", "httpdyno.experiments.options")),
        (["runs"], ("rich", "httpdyno.model", "httpdyno.cli.report")),
        (["bench"], ("rich", "polars", "pydantic", "numpy", "httpdyno.cli.running", "httpdyno.model.trial")),
    ],
)
def test_help_imports_nothing_heavy(words: list[str], heavy: tuple[str, ...]) -> None:
    program = (
        "import sys\n"
        f"sys.argv = {['httpdyno', *words, '--help']!r}\n"
        "from httpdyno.cli import main\n"
        "main()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: httpdyno")
    assert done.stdout.endswith("\n[]\n")


def test_runs_are_listed_without_what_measures_and_draws(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        f"sys.argv = ['httpdyno', 'runs', '--out', {str(tmp_path)!r}]\n"
        "from httpdyno.cli import main\n"
        "main()\n"
        "print([name for name in ('httpdyno.experiments.definition', 'vl_convert') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")


@pytest.mark.parametrize("verb", ["load", "runs", "fetch"])
def test_an_interruption_during_the_imports_is_no_traceback(verb: str) -> None:
    program = (
        "import builtins, signal, sys\n"
        f"sys.argv = ['httpdyno', {verb!r}]\n"
        "from httpdyno.cli import main\n"
        "really = builtins.__import__\n"
        "def interrupted(name, *more):\n"
        "    if name.startswith(('httpdyno.cli.', 'httpdyno.subjects.')):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return really(name, *more)\n"
        "builtins.__import__ = interrupted\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
