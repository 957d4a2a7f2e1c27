"""The modules of every crate form layers: there are no circles of use, direct or indirect."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = sorted(path.parent for path in (Path(__file__).parents[2] / "crates").glob("*/src"))
USED = re.compile(r"\bcrate::(?:(\w+)|\{([^;]*)\})")


def modules(source: Path) -> dict[str, set[str]]:
    """Return the modules at the top of a crate, each with those that it uses; tests may use anything."""
    graph: dict[str, set[str]] = {}
    for file in source.rglob("*.rs"):
        inside = file.relative_to(source).with_suffix("").parts
        if inside in {("lib",), ("main",)} or inside[-1] == "tests" or inside[0] == "bin":
            continue
        text = file.read_text().partition("#[cfg(test)]\nmod ")[0]
        text = re.sub(r"(?m)^\s*//.*$", "", text)
        for one, several in USED.findall(text):
            # Of `crate::{a::B, c}` the first name of each path, whatever stands in braces below it.
            flat = re.sub(r"\{[^{}]*\}", "", several)
            names = {one} if one else {part.partition("::")[0].strip() for part in flat.split(",")}
            graph.setdefault(inside[0], set()).update(names - {inside[0], "self", ""})
    return graph


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_the_modules_of_a_crate_use_each_other_in_one_direction(crate: Path) -> None:
    try:
        list(TopologicalSorter(modules(crate / "src")).static_order())
    except CycleError as error:
        pytest.fail(f"{crate.name}: {' uses '.join(reversed(error.args[1]))}")


def test_a_circle_is_found(tmp_path: Path) -> None:
    for name, text in {
        "a.rs": "use crate::{b::{C, D}, e};\n",
        "b/mod.rs": "mod inner;\n",
        "b/inner.rs": "/// Of `crate::a`.\nuse crate::f::X;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
        "f.rs": "fn f() { crate::a::g() }\n",
        "lib.rs": "mod a;\nuse crate::a::C;\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert modules(tmp_path) == {"a": {"b", "e"}, "b": {"f"}, "f": {"a"}}
    with pytest.raises(CycleError):
        TopologicalSorter(modules(tmp_path)).prepare()
