"""docs/internals/navigating.md leads along files and functions that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "internals" / "navigating.md").read_text(encoding="utf-8")
FOLDERS = (ROOT / "python" / "httpdyno", ROOT / "crates", ROOT)
# `path` `name`, `name`: the path, and the functions named right after it.
NAMED = re.compile(r"`([\w/.-]+(?:\.py|\.rs|/))`((?:,?\s+`[a-z_]+`)*)")
MOST = 25
STEPS = [(path, tuple(re.findall(r"\w+", names))) for path, names in NAMED.findall(PAGE)]


@pytest.mark.parametrize(("path", "names"), sorted(set(STEPS)))
def test_a_step_is_there(path: str, names: tuple[str, ...]) -> None:
    found = next((folder / path for folder in FOLDERS if (folder / path).exists()), None)
    assert found, f"{path} is not a file"
    files = [found] if found.is_file() else sorted(found.glob("*.py"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    for name in names:
        assert re.search(rf"\b(def|class|fn)\s+{name}\b", text), f"{path} has no {name}"


def test_the_walk_is_whole() -> None:
    numbers = [int(number) for number in re.findall(r"^ ?(\d+)\. ", PAGE, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    named = [name for _, names in STEPS for name in names]
    assert len(named) == len(numbers) <= MOST
