"""Distributions: sources and built wheels of httpdyno and of its engine contain everything that a run needs."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from httpdyno import __version__
from httpdyno.installation import CHECKOUT, renew_engine

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "crates" / "httpdyno-engine"
BUILT = ("/node_modules/", "/target/", "/.venv/", "/__pycache__/", ".egg-info/", ".pyc")
"""Files that builds leave among the sources."""


def tracked(*folders: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    # A tracked file that was removed cannot be packed.
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def packed_modules() -> set[str]:
    """Files of the Python side, its data and the subjects, as they lie below ``httpdyno/``."""
    modules = {name.removeprefix("python/") for name in tracked("python")}
    return modules | {f"httpdyno/data/{name}" for name in tracked("subjects")}


def changed_since(built: Path, folder: str) -> bool:
    return any((ROOT / name).stat().st_mtime > built.stat().st_mtime for name in tracked(folder))


def files_of(archive: Path) -> set[str]:
    """Name the files of a source distribution, without its top folder."""
    with tarfile.open(archive) as members:
        return {member.name.partition("/")[2] for member in members if member.isfile()}


def modes_of(distribution: str, *sources: str) -> dict[str, int]:
    """Return the files of a wheel in dist/ that is newer than its sources, with their modes; else skip the test."""
    wheels = sorted((ROOT / "dist").glob(f"{distribution}-{__version__}-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels or any(changed_since(wheels[-1], source) for source in sources):
        pytest.skip("no wheel of these sources in dist/; build one and look at it with: make wheel-check")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        return {member.filename: member.external_attr >> 16 for member in wheel.infolist()}


@pytest.fixture(scope="module")
def engine_sources(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("dist")
    program = Path(sys.executable).with_name("maturin")
    argv = [program, "sdist", "--manifest-path", ENGINE / "Cargo.toml", "--out", folder]
    # It asks cargo for every crate, also those of other systems, which are not here yet.
    environment = os.environ | {"CARGO_NET_RETRY": "10"}
    packed = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert packed.returncode == 0, packed.stderr
    (archive,) = folder.glob("*.tar.gz")
    return files_of(archive)


@pytest.fixture(scope="module")
def python_sources(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("dist")
    argv = [Path(sys.executable).with_name("uv"), "build", "--sdist", "--python", sys.executable, "--out-dir", folder]
    packed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert packed.returncode == 0, packed.stderr
    (archive,) = folder.glob("*.tar.gz")
    return files_of(archive)


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    engine = tomllib.loads((ENGINE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    assert project["version"] == engine == crates == __version__
    assert f"httpdyno-engine=={engine}" in project["dependencies"]


def test_the_source_distributions_have_what_wheels_are_built_of(
    python_sources: set[str], engine_sources: set[str]
) -> None:
    wanted = {f"python/{name}" for name in packed_modules()}
    assert wanted | tracked("wheel", "LICENSE-*", "README.md", "pyproject.toml") <= python_sources
    wanted = {name for name in tracked("crates") if "/src/" in name or "/webs/" in name or name.count("/") == 2}
    # What belongs to the distribution itself is at the top of its archive, too.
    tops = {"Cargo.toml", "Cargo.lock", "README.md", "pyproject.toml", "LICENSE-MIT", "LICENSE-APACHE"}
    assert wanted - {"crates/httpdyno-engine/pyproject.toml"} | tops <= engine_sources


def test_the_source_distributions_have_nothing_that_was_built(
    python_sources: set[str], engine_sources: set[str]
) -> None:
    names = sorted(python_sources | engine_sources)
    assert [name for name in names if any(part in f"/{name}" for part in BUILT)] == []


def test_the_wheel_has_all_that_a_run_needs() -> None:
    modes = modes_of("httpdyno", "python", "subjects", "pyproject.toml")
    info = f"httpdyno-{__version__}.dist-info/licenses"
    wanted = packed_modules() | {f"{info}/LICENSE-{name}" for name in ("MIT", "APACHE")}
    program = f"httpdyno-{__version__}.data/scripts/httpdyno"
    assert wanted - set(modes) == set()
    assert modes[program] & 0o111
    assert [name for name in sorted(modes) if any(part in f"/{name}" for part in BUILT)] == []


def test_the_wheel_of_the_engine_is_one_program_with_its_licences() -> None:
    modes = modes_of("httpdyno_engine", "crates", "Cargo.lock")
    prefix = f"httpdyno_engine-{__version__}"
    program = f"{prefix}.data/scripts/httpdyno-engine"
    assert modes[program] & 0o111
    licences = {f"{prefix}.dist-info/licenses/LICENSE-{name}" for name in ("MIT", "APACHE", "THIRD-PARTY")}
    assert licences - set(modes) == set()
    assert [name for name in modes if ".dist-info/" not in name] == [program]


def test_the_cure_of_a_missing_engine_fits_how_httpdyno_came() -> None:
    assert str(ROOT) == CHECKOUT
    assert renew_engine() == "make setup"
    assert renew_engine(None).startswith("pip install ")
