"""Distributions: the source distribution, and a built wheel, contain everything that a run needs."""

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


def wheels() -> list[Path]:
    return sorted((ROOT / "dist").glob(f"httpdyno-{__version__}-*.whl"))


def changed_since(built: Path, folder: str) -> bool:
    return any((ROOT / name).stat().st_mtime > built.stat().st_mtime for name in tracked(folder))


@pytest.fixture(scope="module")
def source_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("dist")
    argv = [Path(sys.executable).with_name("maturin"), "sdist", "--out", folder]
    # It asks cargo for every crate, also those of other systems, which are not here yet.
    environment = os.environ | {"CARGO_NET_RETRY": "10"}
    packed = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert packed.returncode == 0, packed.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as members:
        return {member.name.partition("/")[2] for member in members if member.isfile()}


def test_the_version_is_one() -> None:
    python = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    engine = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    assert python == engine == __version__


def test_the_source_distribution_has_what_a_wheel_is_built_of(source_names: set[str]) -> None:
    wanted = {f"python/{name}" for name in packed_modules()}
    wanted |= tracked("webs", "wheel", "LICENSE-*", "README.md", "pyproject.toml", "Cargo.toml", "Cargo.lock")
    wanted |= {name for name in tracked("crates") if "/src/" in name or name.count("/") == 2}
    assert wanted - source_names == set()


def test_the_source_distribution_has_nothing_that_was_built(source_names: set[str]) -> None:
    assert [name for name in sorted(source_names) if any(part in f"/{name}" for part in BUILT)] == []


def test_a_wheel_has_all_that_a_run_needs() -> None:
    wanted = packed_modules()
    built = max((path.stat().st_mtime, path) for path in [ROOT / "pyproject.toml", *wheels()])[1]
    if built.suffix != ".whl" or any(changed_since(built, folder) for folder in ("python", "subjects")):
        pytest.skip("no wheel of these sources in dist/; build one and look at it with: make wheel-check")
    with zipfile.ZipFile(built) as wheel:
        modes = {member.filename: member.external_attr >> 16 for member in wheel.infolist()}
    names = set(modes)
    prefix = f"httpdyno-{__version__}"
    programs = {f"{prefix}.data/scripts/{name}" for name in ("httpdyno", "httpdyno-engine")}
    wanted |= programs
    wanted |= {f"{prefix}.dist-info/licenses/LICENSE-{name}" for name in ("MIT", "APACHE", "THIRD-PARTY")}
    assert wanted - names == set()
    assert all(modes[name] & 0o111 for name in programs)
    assert [name for name in sorted(names) if any(part in f"/{name}" for part in BUILT)] == []


def test_the_cure_of_a_missing_engine_fits_how_httpdyno_came() -> None:
    assert str(ROOT) == CHECKOUT
    assert renew_engine() == "make setup"
    assert renew_engine(None).startswith("pip install ")
