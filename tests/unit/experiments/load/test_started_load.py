"""The start of the load generator: what it inherits, and that it never outlives the block."""

import os
import sys
from pathlib import Path

import pytest

from httpdyno.experiments.load.started import start_load
from httpdyno.lab.scratch import ScratchFile


def engine(folder: Path, body: str) -> str:
    """Write a program that stands in for the engine."""
    path = folder / "engine"
    path.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{body}", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_it_is_gone_after_the_block_even_if_it_would_stay(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsys.stderr.write('x')\nsys.stderr.flush()\ntime.sleep(600)\n"
    with start_load(engine(tmp_path, body), []) as started:
        assert started.process.poll() is None
    assert started.process.returncode is not None
    assert not Path(f"/proc/{started.process.pid}").exists()


@pytest.mark.parametrize("option", ["--urls", "--requests-file"])
def test_a_list_without_a_name_can_be_read(tmp_path: Path, option: str) -> None:
    body = f"print(open(next(word for word in sys.argv if word.startswith('{option}=')).partition('=')[2]).read())\n"
    with ScratchFile() as urls:
        urls.file.write(b"http://a/")
        urls.file.flush()
        with start_load(engine(tmp_path, body), [f"{option}={urls.path}"]) as started:
            assert started.process.wait(300) == 0
            assert started.said.read_text() == "http://a/\n"


def test_a_list_that_only_looks_like_one_without_a_name_is_left_to_the_engine(tmp_path: Path) -> None:
    with start_load(engine(tmp_path, "print(sys.argv[4:])\n"), ["--urls=/proc/self/fd/x"]) as started:
        assert started.process.wait(300) == 0
        assert started.said.read_text() == "['--urls=/proc/self/fd/x']\n"


def test_the_pipe_of_progress_ends_with_the_engine(tmp_path: Path) -> None:
    with start_load(engine(tmp_path, "os.write(int(sys.argv[3].partition('=')[2]), b'news')\n"), []) as started:
        assert started.process.wait(300) == 0
        assert [os.read(started.progress, 9), os.read(started.progress, 9)] == [b"news", b""]
