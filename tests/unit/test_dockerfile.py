"""The Dockerfile: its stages, what it copies and starts; `make wheel-check` runs its steps."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from pages.dockerfile import Stage, ignored, read_stages

ROOT = Path(__file__).parents[2]
RULES = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def stages() -> list[Stage]:
    return read_stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def steps(stage: Stage, verb: str) -> list[str]:
    return [words for of, words in stage.steps if of == verb]


def test_the_wheels_are_built_in_one_stage_and_installed_in_the_other(stages: list[Stage]) -> None:
    build, image = stages
    assert build.image.startswith("rust:")
    assert steps(build, "RUN")[-1] == "scripts/build-wheel"
    assert steps(image, "COPY") == [f"--from={build.name} /src/dist/*.whl /tmp/wheel/"]
    assert any("pip install" in words and "/tmp/wheel/*.whl" in words for words in steps(image, "RUN"))
    assert image.entrypoint == ["httpdyno"]
    # A build for one Debian runs on it.
    assert {stage.image.rpartition("-")[2] for stage in stages} == {"bookworm"}


def test_the_image_has_a_python_that_the_wheel_asks_for(stages: list[Stage]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    least = tuple(map(int, project["project"]["requires-python"].removeprefix(">=").split(".")))
    found = re.match(r"python:(\d+)\.(\d+)-slim-", stages[-1].image)
    assert found
    assert (int(found[1]), int(found[2])) >= least
    # The same programs build the wheels of a checkout and of the image.
    engine = tomllib.loads((ROOT / "crates/httpdyno-engine/pyproject.toml").read_text(encoding="utf-8"))
    (maturin,) = engine["build-system"]["requires"]
    (uv,) = (words for words in project["project"]["dependencies"] if words.startswith("uv>"))
    assert any(f"'{maturin}' '{uv}'" in words for words in steps(stages[0], "RUN"))


def test_the_context_has_what_a_wheel_is_built_of_and_little_else() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept = {name for name in filter(None, listed.split("\0")) if not ignored(name, RULES)}
    tops = {name.partition("/")[0] for name in kept}
    assert {"crates", "python", "scripts", "subjects", "wheel", "Cargo.lock", "pyproject.toml"} <= tops
    assert tops.isdisjoint({"tests", "docs", "benches", "fuzz"})
    assert "README.md" in kept  # the metadata of the wheel


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("target/release/httpdyno", True),
        ("subjects/clients/rust-reqwest/target/debug/a", True),
        ("subjects/clients/node-fetch/node_modules/a/b.js", True),
        ("crates/dyno-web/src/site.rs", False),
        ("docs/guide/ci.md", True),
        ("python/httpdyno/__init__.py", False),
        (".git/config", True),
        (".gitignore", False),
    ],
)
def test_what_was_built_here_stays_out(name: str, left_out: bool) -> None:
    assert ignored(name, RULES) is left_out
