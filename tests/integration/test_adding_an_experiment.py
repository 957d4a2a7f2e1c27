"""The experiments of docs/internals/adding-an-experiment.md, written into a copy of the package, run unchanged."""

import csv
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from doubles.command_line import START_TO_MEASURE
from guide_pages import blocks

ROOT = Path(__file__).resolve().parents[2]
PAGE = "../internals/adding-an-experiment.md"
LINES = 40
TRIALS = 5
FILES = ("options.py", "definition.py")
EXPERIMENTS = {"first_byte": blocks(PAGE, "python")[:3], "one_connection": blocks(PAGE, "python")[3:]}
PATIENCE_S = 600
"""Against hangs only."""


@pytest.fixture(scope="module")
def with_experiments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package next to the rest of the checkout, and do what the page says."""
    root = tmp_path_factory.mktemp("checkout")
    for path in ROOT.iterdir():
        if path.name not in {"python", "runs", ".git"}:
            (root / path.name).symlink_to(path)
    package = root / "python" / "httpdyno"
    shutil.copytree(ROOT / "python" / "httpdyno", package, ignore=shutil.ignore_patterns("__pycache__"))
    registry = package / "experiments" / "registry.py"
    for name, (*files, line) in EXPERIMENTS.items():
        folder = package / "experiments" / name
        folder.mkdir()
        (folder / "__init__.py").touch()
        for file, text in zip(FILES, files, strict=True):
            (folder / file).write_text(text, encoding="utf-8")
        before, opening, after = registry.read_text(encoding="utf-8").partition("_FOLDERS: Final = {\n")
        registry.write_text(f"{before}{opening}{line}{after}", encoding="utf-8")
    return root


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_is_as_short_as_the_page_says(name: str) -> None:
    written = [line for block in EXPERIMENTS[name] for line in block.splitlines() if line.strip()]
    assert len(written) <= LINES


def test_the_commands_of_the_page_run_as_they_stand_there(with_experiments: Path, tmp_path: Path) -> None:
    ranked, passed = blocks(PAGE, "console")
    said = typed(ranked, with_experiments, tmp_path)
    header, *rows = csv.reader(said["query"].splitlines())
    assert header == ["subject", "p50_ns"]
    medians = [median for subject, median in rows if subject == "native"]
    assert len(medians) == TRIALS
    assert all(float(median) > 0 for median in medians)
    shown, shown_passed = blocks(PAGE, "text")
    assert heading(said["first-byte"]) == heading(shown)
    output = typed(passed, with_experiments, tmp_path)["one-connection"]
    assert heading(output) == heading(shown_passed)
    assert [line.split()[:2] for line in output.splitlines() if line.startswith("native ")] == [["native", "yes"]]


def typed(console: str, root: Path, folder: Path) -> dict[str, str]:
    """Run the commands of a block; give the output of each by its verb."""
    said = {}
    for line in console.splitlines():
        prompt, program, *words = shlex.split(line)
        assert (prompt, program) == ("$", "httpdyno")
        ended = subprocess.run(
            [*START_TO_MEASURE, *words],
            env=os.environ | {"PYTHONPATH": str(root / "python"), "COLUMNS": "120"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        # 3: on a machine so busy that no trial is valid.
        assert ended.returncode in {0, 3}, ended.stderr
        said[words[0]] = ended.stdout
    return said


def heading(output: str) -> list[str]:
    """Return the headings of the table in an output, which stands below the answer."""
    answer, *lines = output.splitlines()
    assert not answer.startswith("subject ")
    (line,) = (line for line in lines if line.startswith("subject "))
    return re.split(r"  +", line)
