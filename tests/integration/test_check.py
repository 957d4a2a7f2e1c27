"""The user's own client, checked against the contract: kept clauses, broken clauses, and remedies."""

from conftest import MakeSubject
from doubles.command_line import Command

GARBAGE = "import sys\nfor line in sys.stdin:\n    print('hello')\n    sys.stdout.flush()\n"


def of_clauses(printed: str) -> dict[str, tuple[str, str]]:
    """Return mark and words of each clause of one client."""
    found = {}
    for line in printed.splitlines():
        if not line.startswith(" "):
            clause, _, words = line[8:].partition(": ")[2].partition(": ")
            found[clause] = (line[:8].strip(), words)
    return found


def test_a_client_that_keeps_the_contract(httpdyno: Command) -> None:
    ended = httpdyno("subjects", "check", "native")
    assert ended.code == 0, ended.out
    assert {mark for mark, _ in of_clauses(ended.out).values()} == {"ok", "as said"}
    assert "to change" not in ended.out


def test_changes_are_named_for_a_client_that_sends_no_request(httpdyno: Command, make_subject: MakeSubject) -> None:
    folder = make_subject("made-up")
    ended = httpdyno("subjects", "check", str(folder))
    assert ended.code == 1, ended.err
    found = of_clauses(ended.out)
    assert found["an empty list"] == ("ok", "")
    assert found["honest answers"][1].startswith("garbage: 3 lines that cannot be read, such as ',200,")
    assert found["one at a time"] == ("FAILED", "with CONCURRENCY=1 up to 0 requests were in flight")
    assert found["a setting that cannot be honoured"] == ("FAILED", "HTTP_VERSION=nonsense: status 0, 1 rows")
    lengths = "[200, 13 B; served 16384] https://documents.test/json"
    assert f"made-up: documents: wrong_length: {lengths}" in ended.out
    assert "        to change: read all content whatever the status" in ended.out
    assert found["REQUEST_TIMEOUT"][1].startswith("gave up https://stall-headers.test/ after 0.00 s, with REQUEST")


def test_lines_that_are_no_rows_are_named(httpdyno: Command, make_subject: MakeSubject) -> None:
    ended = httpdyno("subjects", "check", f"{make_subject('greeter', GARBAGE)}/../greeter")
    assert ended.code == 1, ended.err
    assert "FAILED  greeter: honest answers: garbage: " in ended.out
    assert "such as 'hello'" in ended.out
    assert "unseen  greeter: content codings, " in ended.out


def test_a_server_is_refused(httpdyno: Command) -> None:
    ended = httpdyno("subjects", "check", "nginx")
    assert (ended.code, ended.out) == (2, "")
    assert "nginx is a server; name a client" in ended.err
