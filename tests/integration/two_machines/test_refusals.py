"""What cannot be measured against another machine is one line that says what to do."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.two_machines import AGAINST, PORT, THERE_ADDRESS, Machines, RunningOrigin


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--against", f"http://{THERE_ADDRESS}:9"], "refuses connections; start an origin there"),
        (["--against", "http://10.66.9.9:8080"], "cannot be reached"),
        (["--against", "http://nowhere.invalid:8080"], "its name has no address here"),
        (["--against", f"https://{THERE_ADDRESS}:{PORT}"], "only http is spoken between two machines"),
        (["--against", f"{THERE_ADDRESS}:{PORT}"], "write it like http://other:8080"),
        (["--against", f"{AGAINST}/plain"], "name the machine and the port only"),
        (["--against", AGAINST, "--link", "rtt=10ms"], "--link: beside --against the way is a real one"),
        (["--against", AGAINST, "--web", "live"], "leave out --web live, or --against"),
        (["--against", AGAINST, "--seed", "7"], "plays plain with seed 1, and plain with seed 7 is expected here"),
        (["--against", AGAINST, "--web", "contract"], "give --web plain --seed 1, or start it with --web contract"),
        (["--against", f"http://{THERE_ADDRESS}:9001"], "is no origin that can be measured against"),
        (["--against", f"http://{THERE_ADDRESS}:9002"], "does not let"),
        (["--against", f"http://{THERE_ADDRESS}:9003"], "is no origin that can be measured against"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_what_to_do(
    origin: Callable[..., RunningOrigin],
    machines: Machines,
    here: Command,
    tmp_path: Path,
    options: list[str],
    said: str,
) -> None:
    origin()
    origin("--web", "plain", "--listen", "0.0.0.0:9001", "--control", "off")
    origin("--web", "plain", "--listen", "0.0.0.0:9002", "--control", "192.0.2.1")
    stranger = subprocess.Popen(
        [*machines.at_there, sys.executable, "-u", "-m", "http.server", "9003", "--directory", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert stranger.stdout is not None
        assert b"Serving" in stranger.stdout.readline()
        ended = here("try", "native", "--limit", "3", *options)
    finally:
        stranger.kill()
        stranger.communicate()
    assert ended.code == 2, ended.err
    assert said in ended.err
    assert len(ended.err.strip().splitlines()) <= 2, ended.err
    assert ended.out == ""


def test_what_lies_elsewhere_is_not_asked_for(
    origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path
) -> None:
    web = tmp_path / "web.toml"
    web.write_text(f"name = 'away'\nseed = 1\n[[host]]\nname = '{THERE_ADDRESS}'\nredirect_to = 'http://a.test/'\n")
    origin("--web", str(web), "--listen", "0.0.0.0")
    ended = here("try", "native", "--against", AGAINST, "--web", str(web), "--limit", "3")
    assert ended.code == 2
    assert "is elsewhere, or redirects there (1 of the list)" in ended.err
    assert "Traceback" not in ended.err
