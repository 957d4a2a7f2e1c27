"""A web whose URLs are partly elsewhere is not requested from another machine."""

from collections.abc import Callable
from pathlib import Path

from doubles.command_line import Command
from doubles.two_machines import AGAINST, THERE_ADDRESS, RunningOrigin


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
