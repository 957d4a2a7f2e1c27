"""Browsers load pages of a room over HTTPS: they trust its authority, and have their own sandboxes."""

import csv
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from httpdyno.lab.engine import Engine

PATIENCE_S = 300.0
NOBODY = 65_534
URL = "https://a.test/"


def load(engine: Engine, argv: list[str], folder: Path, *, user: int) -> set[tuple[str, str]]:
    """Run a browser in a room as a user; return the answered URLs, with the status of each."""
    shutil.copy(engine.path, folder / "engine")
    for path in (folder, *folder.iterdir()):
        os.chown(path, user, user)
    room = [str(folder / "engine"), "room", "--web", "plain", "--arrivals", "arrivals.csv", "--", *argv]
    more = {} if user == os.geteuid() else {"user": user, "group": user, "extra_groups": []}
    ran = subprocess.run(
        room,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        **more,
    )
    assert ran.returncode == 0, ran.stderr
    with (folder / "arrivals.csv").open(newline="") as rows:
        return {(row["url"], row["status"]) for row in csv.DictReader(rows)}


@pytest.mark.measured
@pytest.mark.parametrize("user", [os.geteuid(), NOBODY], ids=["this user", "an ordinary user"])
@pytest.mark.parametrize("browser", ["chromium", "firefox-esr"])
def test_a_browser_loads_a_page_over_https(browser: str, user: int, engine: Engine) -> None:
    if shutil.which(browser) is None:
        pytest.skip(f"no {browser} here; as root: apt-get install {browser}")
    if user != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="httpdyno-browser-") as name:
        folder = Path(name)
        picture = folder / "page.png"
        argv = {
            # Its own sandbox is not for root.
            "chromium": ["--headless=new", *(["--no-sandbox"] if user == 0 else []), "--dump-dom", URL],
            "firefox-esr": ["--headless", "--screenshot", str(picture), URL],
        }[browser]
        answered = load(engine, [browser, *argv], folder, user=user)
        # It also contacts its maker's hosts, which it may not trust here.
        assert (URL, "200") in answered
        assert browser == "chromium" or picture.stat().st_size > 1_000
    assert not Path("/etc/chromium/policies/managed/httpdyno.json").exists()
