"""No code decides by a sentence that is written for people: it is composed of data, shown, and never read again."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import httpdyno

ROOT = Path(httpdyno.__file__).parent
SENTENCES = frozenset(
    {
        *("reason", "validity_reason", "memory_limit_reason", "receive_steering_reason", "offload_reason"),
        *("cool_down_reason", "why_not", "limit_text", "headline", "sentence", "refusal"),
    }
)
"""Names of fields and variables that hold such a sentence, also as parts of a text: ``note.text``, ``error.line``."""
FIELDS = SENTENCES | {"message", "line", "text"}
"""The same of fields alone."""
OBJECTS = frozenset({"note", "error", "refused", "failure", "finding"})
"""Variables whose ``text``, ``line`` and ``message`` are sentences."""
READING = frozenset(
    {
        *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit"),
        *("replace", "find", "index", "count", "sub", "match", "search", "fullmatch", "findall"),
    }
)
"""Methods of texts and of patterns that search or edit."""


LAYOUT = frozenset({"report.headline.partition('\\n')", "_PARTS.sub('\\n', report.headline, count=1)"})
"""The page divides its headline into a large and a small line."""


def is_sentence(node: ast.AST) -> bool:
    """Return whether an expression is a sentence: ``trial.reason``, ``note.text``, ``str(error)``, ``reason or ""``."""
    if isinstance(node, ast.Name):
        return node.id in SENTENCES
    if isinstance(node, ast.Attribute):
        of_object = isinstance(node.value, ast.Name) and node.value.id in OBJECTS
        return node.attr in (FIELDS if of_object else SENTENCES)
    if isinstance(node, ast.BoolOp):
        return any(map(is_sentence, node.values))
    return isinstance(node, ast.NamedExpr) and is_sentence(node.value)


def readings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the places where a sentence is searched, edited or compared with a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READING:
            if any(map(is_sentence, (node.func.value, *node.args))):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            found = any(isinstance(one, ast.In | ast.NotIn) for one in node.ops) and any(map(is_sentence, sides))
            texts = [one for one in sides if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value]
            if found or (texts and any(map(is_sentence, sides))):
                yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.py")), ids=lambda file: str(file.relative_to(ROOT)))
def test_no_code_reads_a_sentence(file: Path) -> None:
    found = list(readings(file.read_text(encoding="utf-8")))
    assert [text for _, text in found if text not in LAYOUT] == [], found


@pytest.mark.parametrize(
    "code",
    [
        "'install it with' in (trial.reason or '')",
        "trial.reason.removeprefix('a: ')",
        "(trial.reason or '').partition('; also: ')",
        "pattern.sub('0', reason)",
        "re.sub('[0-9]', '', trial.validity_reason)",
        "note.text not in tools",
        "error.line.startswith('--limit')",
        "trial.reason == 'it was not built'",
    ],
)
def test_it_finds_what_there_was(code: str) -> None:
    assert [text for _, text in readings(code)]


@pytest.mark.parametrize(
    "code", ["trial.reason or 'unknown'", "f'{error.line}; see'", "reason is None", "text.split()"]
)
def test_it_allows_to_compose(code: str) -> None:
    assert list(readings(code)) == []
