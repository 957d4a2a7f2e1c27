"""When the silence of a client is reported."""

from pathlib import Path

import pytest

from httpdyno.lab.observer import Silence, SilenceWatch


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The output file of a client, and its 100 URLs."""
    output, urls = tmp_path / "output", tmp_path / "urls"
    output.write_bytes(b"")
    urls.write_bytes(b"https://a.example/\n" * 100)
    return output, urls


def test_a_silence_of_half_a_minute_is_reported_once(files: tuple[Path, Path]) -> None:
    output, urls = files
    watch = SilenceWatch(output, urls, deadline_s=600)
    assert watch.look(1000.0) is None
    output.write_bytes(b"line\n" * 98)
    assert watch.look(1001.0) is None
    assert watch.look(1030.9) is None
    assert watch.look(1031.0) == Silence(30.0, printed=98, given=100, left_s=569.0)
    assert watch.look(1200.0) is None


def test_a_line_ends_a_silence_and_the_next_silence_is_reported(files: tuple[Path, Path]) -> None:
    output, urls = files
    watch = SilenceWatch(output, urls, deadline_s=50)
    watch.look(0.0)
    assert watch.look(30.0) == Silence(30.0, printed=0, given=100, left_s=20.0)
    output.write_bytes(b"line\n")
    assert watch.look(35.0) is None
    # The room is cleared after the deadline.
    assert watch.look(65.0) == Silence(30.0, printed=1, given=100, left_s=0.0)
