"""`--http-version` in real rooms: only one version is used, and a host without it is an expected error."""

from pathlib import Path
from typing import Any

from doubles.command_line import Command

from .conftest import OF_OUR_OWN_S, right_in_time

URLS = "".join(f"https://host{number % 5}.test/bytes/{number}\n" for number in range(40))


def test_all_requests_are_of_the_version_that_was_asked_for(httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text(URLS, encoding="utf-8")
    given = ("--web", "plain", "--urls", "urls", "--timeout", "60", "--format", "json")
    both = httpdyno(
        "bench", "native", "python-urllib3", "--http-version", "2", "--quick", "--concurrency", "10", *given
    )
    assert both.code == 0, both.err
    rows = {row["subject"]: row for row in both.rows}
    # It was not built: that would need a package index.
    assert rows["python-urllib3"]["verdict"] == "unavailable"
    assert "python-urllib3: not measured: it cannot be set to HTTP/2: it claims only HTTP/1.1" in both.err
    older = httpdyno("try", "native", "--http-version", "1.1", *given)
    assert older.code == 0, older.err
    for row, share, version in ((rows["native"], 1.0, "2"), (older.rows[0], 0.0, "1.1")):
        assert (row["http2"], row["wrong"], row["2xx"], row["http_version"]) == (share, 0, 40, version)


def test_a_host_without_http_2_is_an_error_that_is_due(httpdyno: Command) -> None:
    def crawl(timeout_s: int) -> dict[str, Any]:
        given = ("--http-version", "2", "--limit", "150", "--concurrency", "150", "--timeout", str(timeout_s))
        ended = httpdyno("try", "native", *given, "--format", "json")
        assert ended.code == 0, ended.err
        (row,) = ended.rows
        return row

    # 15 of these have a fault, whatever is spoken; 30 more do not offer HTTP/2. A client that waited for its machine
    # may give up one more in good faith, where the web is slow as well.
    due = (45, 0)
    row = right_in_time(crawl, lambda row: (row["Exception"], row["wrong"]) == due, timeouts_s=OF_OUR_OWN_S)
    assert (row["Exception"], row["wrong"], row["http2"]) == (*due, 1.0)
