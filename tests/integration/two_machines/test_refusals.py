"""An impossible measurement against another machine gives one line with the remedy."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from doubles.command_line import Command
from doubles.two_machines import AGAINST, PORT, THERE_ADDRESS, Machines, RunningOrigin
from httpdyno.lab.engine import Engine


@pytest.fixture(scope="module")
def others(machines: Machines, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An origin that permits measuring, one that permits no machine, one that permits only others, and a stranger."""
    folder = tmp_path_factory.mktemp("others")
    asked = (
        ("--listen", "0.0.0.0"),
        ("--listen", "0.0.0.0:9001", "--control", "off"),
        ("--listen", "0.0.0.0:9002", "--control", "192.0.2.1"),
    )
    argv = [*machines.at_there, sys.executable, "-u", "-m", "http.server", "9003", "--directory", str(folder)]
    with ExitStack() as running:
        for number, options in enumerate(asked):
            one = RunningOrigin(machines, engine.path, folder / f"origin-{number}", "--web", "plain", *options)
            running.callback(one.kill)
        stranger = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        running.enter_context(stranger)
        running.callback(stranger.kill)
        assert stranger.stdout is not None
        assert b"Serving" in stranger.stdout.readline()
        yield


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--against", f"http://{THERE_ADDRESS}:9"], "refuses connections; start an origin there"),
        (["--against", "http://10.66.9.9:8080"], "cannot be reached"),
        (["--against", "http://nowhere.invalid:8080"], "its name has no address here"),
        (["--against", f"https://{THERE_ADDRESS}:{PORT}"], "only http is spoken between two machines"),
        (["--against", f"{THERE_ADDRESS}:{PORT}"], "write it like http://other:8080"),
        (["--against", f"{AGAINST}/plain"], "name the machine and the port only"),
        (["--against", AGAINST, "--link", "rtt=10ms"], "--link conflicts with --against"),
        (["--against", AGAINST, "--web", "live"], "--against conflicts with --web live"),
        (["--against", AGAINST, "--seed", "7"], "serves plain with seed 1, expected plain with seed 7"),
        (["--against", AGAINST, "--web", "contract"], "give --web plain --seed 1, or start it with --web contract"),
        (["--against", f"http://{THERE_ADDRESS}:9001"], "cannot be measured against"),
        (["--against", f"http://{THERE_ADDRESS}:9002"], "refuses control by"),
        (["--against", f"http://{THERE_ADDRESS}:9003"], "cannot be measured against"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_what_to_do(
    others: None, here: Command, options: list[str], said: str
) -> None:
    del others
    ended = here("try", "native", "--limit", "3", *options)
    assert ended.code == 2, ended.err
    assert said in ended.err
    assert len(ended.err.strip().splitlines()) <= 2, ended.err
    assert ended.out == ""
