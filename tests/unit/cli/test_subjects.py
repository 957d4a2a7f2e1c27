"""`subjects`: the list, the builds, and the claims."""

from pathlib import Path

from conftest import MakeSubject
from doubles.command_line import Command


def test_subjects_are_listed_with_their_state(httpdyno: Command, given: list[str], make_subject: MakeSubject) -> None:
    make_subject("needy", needs='no-such-program = ">=3"')
    make_subject("misspelt", more="[rnu]")
    rows = {row["id"]: row for row in httpdyno("subjects", "list", "--format", "json", *given[1:]).rows}
    assert {"go-net-http", "rust-reqwest", "node-fetch", "python-aiohttp"} <= set(rows)
    assert rows["good"]["state"] == "available"
    assert rows["needy"]["state"] == "unavailable"
    assert "found none; install it with" in rows["needy"]["reason"]
    assert "unknown key 'rnu'" in rows["misspelt"]["reason"]
    assert {"id", "kind", "language", "method", "version", "state", "reason"} <= set(rows["good"])


def test_build_names_what_failed(httpdyno: Command, given: list[str], make_subject: MakeSubject) -> None:
    make_subject("unbuildable", more='[build]\nargv = ["sh", "-c", "echo the reason; exit 1"]')
    assert httpdyno("subjects", "build", *given).code == 0
    ended = httpdyno("subjects", "build", "unbuildable", *given)
    assert ended.code == 3
    assert "httpdyno:   the reason" in ended.err


def test_probe_fails_on_a_claim_that_does_not_hold(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("boaster", more="[capabilities]\nkeepalive = [true]")
    ended = httpdyno("subjects", "probe", "boaster", "--subjects", str(subject_folders))
    assert ended.code == 1
    failed, change = ended.out.partition("FAILED  boaster: keepalive on: claimed, does not work\n")[1:]
    assert failed
    assert change.startswith("        to change: with KEEPALIVE=1 reuse open connections; or ")
    assert "as said boaster: http 2: not claimed, does not work" in ended.out


def test_a_folder_is_probed_by_its_path(httpdyno: Command, make_subject: MakeSubject) -> None:
    folder = make_subject("boaster", more="[capabilities]\nkeepalive = [true]")
    ended = httpdyno("subjects", "probe", str(folder))
    assert "FAILED  boaster: keepalive on" in ended.out


def test_check_of_a_server_names_the_verb_for_servers(httpdyno: Command) -> None:
    said = httpdyno("subjects", "check", "nginx").err
    assert said == "httpdyno: nginx is a server; name a client, see: httpdyno subjects probe\n"


def test_a_subject_that_cannot_be_read_is_named_before_anything_is_measured(
    httpdyno: Command, given: list[str], make_subject: MakeSubject
) -> None:
    make_subject("misspelt", more="[rnu]")
    # There is no measurement in the end, since there is no list.
    ended = httpdyno("bench", *given[1:], "--urls", "nowhere")
    first, *others = ended.err.splitlines()
    assert "unknown key 'rnu'" in first
    assert first.endswith("; it is left out")
    assert len(others) == 1
    assert "nowhere: cannot be read" in others[0]
    # A list of named subjects does not include that one.
    assert "rnu" not in httpdyno("bench", *given, "--limit", "4", "--repeat", "1").err
