"""Results on this machine are cached, and found again for the same key only."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from httpdyno.errors import StorageFailed
from httpdyno.store import NotTuned, Tuned, TunedFor, find_tuned, keep_tuned

OF = TunedFor(
    "go-net-http", "f1", "A CPU", 2, pinned=False, memory_bytes=None, web="top-sites", seed=1, web_digest="d1"
)
FOUND = Tuned(40, 312.5, datetime(2026, 11, 21, 12, tzinfo=UTC), "20261121T120000Z-tune")


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    keep_tuned(tmp_path, OF, FOUND)

    assert find_tuned(tmp_path, OF) == FOUND


def test_what_is_found_later_takes_its_place(tmp_path: Path) -> None:
    keep_tuned(tmp_path, OF, FOUND)
    keep_tuned(tmp_path, replace(OF, fingerprint="f2"), replace(FOUND, concurrency=50, run=None))

    found = find_tuned(tmp_path, replace(OF, fingerprint="f2"))

    assert isinstance(found, Tuned)
    assert (found.concurrency, found.run) == (50, None)
    assert len(list((tmp_path / "tuned").iterdir())) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"subject": "go-fasthttp"},
        {"cpu": "Another"},
        {"cpu": None},
        {"cpus": 4},
        {"pinned": True},
        {"memory_bytes": 2**30},
        {"web": "plain"},
        {"link": "rtt=40ms"},
        {"http_version": "1.1"},
        {"http_version": "2"},
    ],
)
def test_for_something_else_nothing_is_known(tmp_path: Path, change: dict[str, Any]) -> None:
    keep_tuned(tmp_path, OF, FOUND)

    assert find_tuned(tmp_path, replace(OF, **change)) == NotTuned("not tuned on this machine for this web")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fingerprint": "f2"}, "its files, or the programs that build it, have changed since it was tuned"),
        ({"web_digest": "d2"}, "the web top-sites has another model since it was tuned"),
    ],
)
def test_what_has_changed_is_said(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    keep_tuned(tmp_path, OF, FOUND)

    assert find_tuned(tmp_path, replace(OF, **change)) == NotTuned(reason)


def test_another_seed_is_a_web_of_the_same_kind(tmp_path: Path) -> None:
    keep_tuned(tmp_path, OF, FOUND)

    assert find_tuned(tmp_path, replace(OF, seed=2, web_digest="d2")) == FOUND


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b'{"for": {}, "found": {}}', b'{"for": null, "found": null}', b"\xff", b'"text"'],
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: bytes) -> None:
    keep_tuned(tmp_path, OF, FOUND).write_bytes(text)

    assert find_tuned(tmp_path, OF) == NotTuned("the earlier result cannot be read")


@pytest.mark.parametrize("value", [b"0", b"-5", b'"x"', b"null"])
def test_a_concurrency_that_cannot_be_is_not_taken(tmp_path: Path, value: bytes) -> None:
    path = keep_tuned(tmp_path, OF, FOUND)
    path.write_bytes(path.read_bytes().replace(b'"concurrency": 40', b'"concurrency": ' + value))

    assert find_tuned(tmp_path, OF) == NotTuned("the earlier result cannot be read")


def test_a_cache_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "tuned").write_text("in the way")

    with pytest.raises(StorageFailed, match="the result cannot be written"):
        keep_tuned(tmp_path, OF, FOUND)
