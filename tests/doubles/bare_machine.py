"""A machine with only a few programs, for tests of set-up's treatment of missing ones."""

import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"


def set_up(
    script: str, folder: Path, user: int, *arguments: str, scripts: Path = SCRIPTS, **programs: str
) -> "subprocess.CompletedProcess[str]":
    """Run a script of set-up with these programs only, each a line of shell, and bash; user 0 is root."""
    for name, line in {"bash": 'exec /bin/bash "$@"', "id": f"echo {user}", **programs}.items():
        program = folder / name
        program.write_text(f"#!/bin/bash\n{line}\n", encoding="utf-8")
        program.chmod(0o755)
    return subprocess.run(
        ["/bin/bash", scripts / script, *arguments],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
