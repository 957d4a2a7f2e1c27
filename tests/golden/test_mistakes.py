"""Messages about wrong arguments, from Python and from the engine: one line with place, mistake and remedy.

``UPDATE_GOLDEN=1 pytest tests/golden`` rewrites the files; the difference is then reviewed like code.
"""

import os
import re
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from doubles.command_line import START

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
FILES = HERE / "mistakes"
PATIENCE_S = 120

MISTAKES = {
    "verb": ["benhc"],
    "verb-of-subjects": ["subjects", "lst"],
    "subject": ["bench", "go-net-htp"],
    "option": ["bench", "--limt", "5"],
    "option-of-the-engine": ["room", "--sed", "1", "--", "true"],
    "list-missing": ["bench", "--urls", "absent.txt"],
    "list-empty": ["bench", "--urls", "empty.txt"],
    "list-empty-of-a-load": ["load", "--urls", "empty.txt"],
    "list-binary": ["bench", "--urls", "binary"],
    "list-of-no-urls": ["bench", "--urls", "garbage.txt"],
    "folder-unwritable": ["bench", "go-net-http", "--limit", "8", "--concurrency", "2", "--out", "empty.txt"],
    "port-in-use": ["origin", "--web", "plain", "--port", "PORT"],
    "metric": ["compare", "run", "--fail-if", "rightPerSek < -5%"],
    "fail-if": ["compare", "run", "--fail-if", "right_per_s << 5"],
    "stages-of-a-load": ["load", "http://a.example/", "--stages", "0..1000/30s,1000"],
    "fail-if-of-a-load": ["load", "http://a.example/", "--fail-if", "p99 >> 5ms"],
    "unix-socket": ["load", "http://a.example/", "--unix-socket", "empty.txt"],
    "placeholder-of-a-load": ["load", "http://a.example/{{usr}}", "--data", "users.csv"],
    "placeholder-in-the-host": ["load", "http://{{user}}.example/", "--data", "users.csv"],
    "data-ragged": ["load", "http://a.example/{{user}}", "--data", "ragged.csv"],
    "data-unused": ["load", "http://a.example/", "--data", "users.csv"],
    "data-in-a-header": ["load", "http://a.example/", "--header", "X-User: {{note}}", "--data", "users.csv"],
    "label-of-a-load": ["load", "--requests-file", "mixed.jsonl", "--fail-if", "hom.p99 > 5ms"],
    "label-of-no-request": ["load", "http://a.example/", "--fail-if", "cart.p99 > 5ms"],
    "weight": ["load", "--requests-file", "weightless.jsonl"],
    "web-broken": ["try", "go-net-http", "--web", "broken.toml"],
    "web-broken-of-the-engine": ["origin", "--web", "broken.toml"],
    "web-broken-as-an-argument": ["urls", "broken.toml"],
    "web-unknown": ["bench", "--web", "top-site"],
    "sql": ["query", "selec subject from trials"],
    "sql-column": ["query", "select subjct from trials"],
    "sql-syntax": ["query", "select * from trials where"],
    "format": ["bench", "--format", "xml"],
    "run": ["report", "absent"],
    "run-latest": ["report", "latest"],
    "cpus": ["bench", "--cpus", "some"],
    "link": ["bench", "--link", "5g"],
    "link-of-the-engine": ["room", "--link", "5g", "--", "true"],
    "concurrency": ["bench", "--concurrency", "many"],
    "concurrency-of-the-engine": ["fetch", "--concurrency", "many"],
    "limit": ["bench", "--limit", "0"],
    "preset": ["bench", "--preset", "publishd"],
}
NOT_USAGE = {"folder-unwritable": 3, "list-of-no-urls": 3, "port-in-use": 125}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make the folder in which a user makes these mistakes."""
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "binary").write_bytes(b"\x7fELF\x02\x01\x01\x00\x00\n")
    (tmp_path / "garbage.txt").write_text("two words\n!!!\n???\nftp://a.example/\nhttps://\nword\n<html>\n", "utf-8")
    (tmp_path / "broken.toml").write_text('name = "mine"\nseed = one\n', encoding="utf-8")
    (tmp_path / "users.csv").write_text('user,note\nanna,"two\nlines"\n', encoding="utf-8")
    (tmp_path / "ragged.csv").write_text("user,note\nanna\n", encoding="utf-8")
    (tmp_path / "mixed.jsonl").write_text('{"url": "http://a.example/", "label": "home"}\n', encoding="utf-8")
    (tmp_path / "weightless.jsonl").write_text('{"url": "http://a.example/", "weight": 0}\n', encoding="utf-8")
    (tmp_path / "run").symlink_to(HERE / "run-of-version-1")
    return tmp_path


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_in_one_line(name: str, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        words = [word.replace("PORT", port) for word in MISTAKES[name]]
        ended = subprocess.run(
            [*START, *words],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "80"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert (ended.returncode, ended.stdout) == (NOT_USAGE.get(name, 2), "")
    (line,) = ended.stderr.splitlines()
    assert re.fullmatch(r"httpdyno: .+?: .+([?]|[;?] .+)", line), "where: what; cure"
    typed = shlex.join(["httpdyno", *MISTAKES[name]])
    text = f"$ {typed}\n{line.replace(port, 'PORT')}\nexit code {ended.returncode}\n"
    if os.environ.get("UPDATE_GOLDEN"):
        FILES.mkdir(exist_ok=True)
        (FILES / f"{name}.txt").write_text(text, encoding="utf-8")
    assert text == (FILES / f"{name}.txt").read_text(encoding="utf-8")


def test_every_file_is_of_a_mistake() -> None:
    assert {path.stem for path in FILES.iterdir()} == set(MISTAKES)
