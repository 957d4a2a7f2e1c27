"""A load follows a name that moves to another server: the system's resolver, a real name server, two origins."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from httpdyno.lab.engine import Engine

NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--mount")
DOUBLE = Path(__file__).parents[1] / "doubles" / "moving_name.py"
PATIENCE_S = 600


def moved(engine: Engine, folder: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Run a load whose name moves from 127.0.0.2 to 127.0.0.3; return what it counted by address."""
    if subprocess.run([*NAMESPACES, "true"], capture_output=True, check=False).returncode:
        pytest.skip("the kernel refuses a network namespace of our own")
    if not Path("/etc/resolv.conf").exists():
        pytest.skip("there is no /etc/resolv.conf to replace")
    argv = [*NAMESPACES, sys.executable, DOUBLE, engine.path, folder, *options]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    addresses = {row["address"].partition(":")[0]: row for row in report["addresses"]}
    assert set(addresses) == {"127.0.0.2", "127.0.0.3"}
    assert addresses["127.0.0.3"]["requests"] > 0
    assert addresses["127.0.0.3"]["errors"] == 0
    # The first lookup, and at least one more.
    assert report["phases"]["dns"]["count"] >= 2
    return addresses


def test_a_load_follows_a_name_whose_server_dies(engine: Engine, tmp_path: Path) -> None:
    addresses = moved(engine, tmp_path)
    assert addresses["127.0.0.2"]["failed"] > 0


def test_kept_connections_follow_a_name_that_is_looked_up_again(engine: Engine, tmp_path: Path) -> None:
    addresses = moved(engine, tmp_path, "--dns-refresh", "1s")
    assert (addresses["127.0.0.2"]["failed"], addresses["127.0.0.2"]["errors"]) == (0, 0)
    assert (addresses["127.0.0.2"]["opened"], addresses["127.0.0.3"]["opened"]) == (4, 4)
