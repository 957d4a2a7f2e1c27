"""How `room` and `origin` start: the engine takes over, and nothing heavy is imported before."""

import subprocess
import sys
from pathlib import Path

HEAVY = ("typer", "rich", "polars", "pydantic", "numpy", "asyncio", "httpdyno.model")


def test_room_and_origin_are_handed_over_without_heavy_imports() -> None:
    program = (
        "import os, sys\n"
        "sys.argv = ['httpdyno', 'room', '--web', 'plain', '--', 'true']\n"
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
    assert done.stdout == "['httpdyno', 'room', '--web', 'plain', '--', 'true']\n[]\n"


def test_help_and_completion_import_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "import httpdyno.cli.app\n"
        "print([name for name in ('polars', 'pydantic', 'numpy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
