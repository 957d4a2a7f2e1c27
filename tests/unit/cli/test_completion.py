"""Completions of the shell."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.cli import main
from httpdyno.experiments.options import WEBS
from httpdyno.subjects.engine_program import usable_engine

ROOT = Path(__file__).parents[3]
PATIENCE_S = 300
"""Against hangs only."""
CLIENTS = {path.parent.name for path in (ROOT / "subjects" / "clients").glob("*/subject.toml")}
SERVERS = {path.parent.name for path in (ROOT / "subjects" / "servers").glob("*/subject.toml")}
SUBJECTS = {path.parent.name for path in (ROOT / "subjects").glob("*/*/subject.toml")}


SHELLS = {
    "bash": """
        eval "$(_HTTPDYNO_COMPLETE=source_bash httpdyno)"
        COMP_WORDS=(httpdyno bench go-net-h); COMP_CWORD=2; _httpdyno_completion httpdyno; echo "${COMPREPLY[@]}"
    """,
    # Outside of its line editor zsh shows nothing: the completions are printed instead.
    "zsh": """
        autoload -Uz compinit; compinit -D; eval "$(_HTTPDYNO_COMPLETE=source_zsh httpdyno)"
        compadd() { echo $completions }
        words=(httpdyno bench go-net-h); CURRENT=3; $_comps[httpdyno]
    """,
    "fish": """
        _HTTPDYNO_COMPLETE=source_fish httpdyno | source
        complete -C "httpdyno bench go-net-h"
    """,
}
"""The lines of docs/start.md, and a TAB."""


Offered = Callable[[str], list[str]]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Offered:
    """Ask as bash does when TAB is pressed at the end of a line."""

    def ask(line: str) -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv("_HTTPDYNO_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setattr("sys.argv", ["httpdyno"])
        with contextlib.suppress(SystemExit):
            main()
        out, err = capfd.readouterr()
        assert err == ""
        kinds, words = zip(*(line.split(",") for line in out.split()), strict=True) if out.strip() else ((), ())
        assert set(kinds) <= {"plain", "file"}
        # Without an offer, the shell completes names of files.
        assert kinds in ((), ("file",)) or set(kinds) == {"plain"}
        return [] if kinds == ("file",) else list(words)

    return ask


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_completes_after_the_line_that_the_guide_names(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    guide = (ROOT / "docs" / "start.md").read_text(encoding="utf-8").replace("\\|", "|")
    assert SHELLS[shell].strip().splitlines()[0].split("; ")[-1] in guide
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    completed = subprocess.run(
        [shell, "-c", SHELLS[shell]],
        env=os.environ | {"PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "go-net-http" in completed.stdout, completed.stderr


@pytest.mark.parametrize("verb", ["bench", "try"])
def test_clients_are_offered(offered: Offered, verb: str) -> None:
    assert set(offered(f"httpdyno {verb} ")) == CLIENTS


@pytest.mark.parametrize(
    ("verb", "option"),
    [("room", "--subject-cpus"), ("origin", "--listen"), ("fetch", "--max-redirects"), ("link", "--presets")],
)
def test_options_of_the_engine_are_offered(offered: Offered, verb: str, option: str) -> None:
    if usable_engine() is None:
        pytest.skip("the engine is not built")
    assert option in offered(f"httpdyno {verb} --")
    assert offered(f"httpdyno {verb} {option[:-2]}") == [option]


def test_who_claims_something_is_offered_to_be_probed(offered: Offered) -> None:
    assert set(offered("httpdyno subjects probe ")) == CLIENTS | SERVERS


@pytest.mark.parametrize("verb", ["subjects build", "subjects install"])
def test_subjects_are_offered(offered: Offered, verb: str) -> None:
    assert set(offered(f"httpdyno {verb} ")) == SUBJECTS


def test_subjects_of_further_folders_are_offered_and_named_ones_are_not(
    offered: Offered, make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("good")
    make_subject("goodish")
    assert offered(f"httpdyno bench --subjects {subject_folders} goo") == ["good", "goodish"]
    assert offered(f"httpdyno bench --subjects {subject_folders} good goo") == ["goodish"]


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("httpdyno bench --web t", ["top-sites"]),
        ("httpdyno try x --web ", sorted([*WEBS, "live"])),
        ("httpdyno bench --link 4", ["4g"]),
        ("httpdyno cost --web l", []),
        ("httpdyno urls p", ["plain"]),
        ("httpdyno room --web pl", ["plain"]),
        ("httpdyno link 4", ["4g"]),
        ("httpdyno bench --format ", ["csv", "json", "markdown", "plain", "table"]),
        ("httpdyno runs --format j", ["json"]),
        ("httpdyno doctor --format ", ["json", "plain"]),
        ("httpdyno compare a b --metric ri", ["right_per_core_s", "right_per_s"]),
        ("httpdyno compare a b --metric wire", []),
        ("httpdyno published cr", ["crawl"]),
        ("httpdyno bench --preset ", ["published"]),
        ("httpdyno bench no-such", []),
    ],
)
def test_values_of_options_are_offered(offered: Offered, line: str, offers: list[str]) -> None:
    assert offered(line) == offers


@pytest.mark.parametrize(
    "line",
    [
        "httpdyno query --runs {} --run ",
        "httpdyno query --out {} --run ",
        "httpdyno plan 1/s --runs {} --from ",
    ],
)
def test_runs_are_offered(offered: Offered, tmp_path: Path, line: str) -> None:
    asked = line.format(tmp_path)
    assert offered(asked) == []
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}", encoding="utf-8")
        (tmp_path / f"no-run-{name}").mkdir()
    assert offered(asked) == ["after", "before", "latest", "previous"]
    assert offered(f"{asked}la") == ["latest"]


def test_the_subjects_of_the_run_are_offered_as_a_baseline(offered: Offered, tmp_path: Path) -> None:
    make_run(tmp_path, [trial("go", 0), trial("rust", 0)], name="one")
    assert offered(f"httpdyno compare one --runs {tmp_path} --baseline ") == ["go", "rust"]
    assert offered(f"httpdyno compare {tmp_path}/one --baseline r") == ["rust"]
    assert offered(f"httpdyno compare absent --runs {tmp_path} --baseline ") == []


def test_webs_are_those_that_the_engine_holds() -> None:
    assert set(WEBS) == {path.stem for path in (ROOT / "crates/dyno-web/webs").glob("*.toml")}
