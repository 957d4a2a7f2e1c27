"""Scripted cases of HTTP/2, with the engine's own fetcher."""

from typing import Final

import pytest

from doubles.command_line import Command
from httpdyno.judge.scripted.case_file import read_cases

pytestmark = pytest.mark.slow

CASES: Final = {case.id for case in read_cases().values() if case.group == "http2"}
LENIENCE_OF_NATIVE: Final = {
    "http2/field-value-blank",
    "http2/first-frame-not-settings",
    "http2/pseudo-field-of-request",
    "http2/settings-enable-push",
    "http2/settings-window-overflow",
    "http2/trailers-with-pseudo-field",
    "http2/window-overflow-stream",
}
"""Cases in which the h2 crate takes what it should refuse."""


def test_the_fetcher_passes_or_is_lenient(httpdyno: Command) -> None:
    ended = httpdyno("conform", "native", "--group", "http2", "--tries", "1", "--format", "json")
    assert ended.code == 0, ended.err
    for client in ("native", "native-tolerant"):
        found = {row["case"]: row["outcome"] for row in ended.rows if row["subject"] == client}
        assert set(found) == CASES
        assert {case for case, outcome in found.items() if outcome == "lenient"} == LENIENCE_OF_NATIVE
        own = [row for row in ended.rows if row["subject"] == client]
        others = {row["case"]: row["seen"] for row in own if row["outcome"] not in {"pass", "lenient", "unsupported"}}
        assert others == {}
        assert list(found.values()).count("pass") > 100
