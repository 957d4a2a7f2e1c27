"""Requirements of the live web, and the notice to the user before any request."""

from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno import __version__
from httpdyno.errors import InvalidValue
from httpdyno.experiments.crawl.options import BenchOptions
from httpdyno.experiments.crawl.plan import check_conflicts, live_user_agent, traffic_lines
from httpdyno.urls import source
from httpdyno.urls.source import count_hosts


@pytest.mark.parametrize(
    ("contact", "about"),
    [
        ("", "HTTP client benchmark"),
        ("  ", "HTTP client benchmark"),
        (" me@example.org ", "HTTP client benchmark; +me@example.org"),
        ("https://example.org/bench?a=b", "HTTP client benchmark; +https://example.org/bench?a=b"),
    ],
)
def test_the_user_agent_has_the_contact(contact: str, about: str) -> None:
    assert live_user_agent(contact) == f"httpdyno/{__version__} ({about})"


@pytest.mark.parametrize("contact", ["me)", "(me", "a\\b", "a\nb", "é@example.org", "\x1b[2J"])
def test_a_contact_that_no_header_carries_is_refused(contact: str) -> None:
    with pytest.raises(InvalidValue, match="--contact: .* is not valid in a user agent"):
        live_user_agent(contact)


def test_what_will_be_sent_is_said() -> None:
    traffic = traffic_lines(
        trials=10, urls=1000, hosts=900, per_host=1, user_agent="httpdyno/1 (HTTP client benchmark)"
    )
    assert traffic == (
        "this will send 10,000 requests to 900 hosts of the real internet: 1,000 URLs in each of 10 trials; redirects "
        "are extra",
        "they go out as 'httpdyno/1 (HTTP client benchmark)', 1 at a time to a host; add your contact with --contact",
    )
    one = traffic_lines(trials=1, urls=1, hosts=1, per_host=2, user_agent="x (+me@example.org)")
    assert one[0].startswith("this will send 1 request to 1 host of the real internet: 1 URL in 1 trial;")
    assert one[1] == "they go out as 'x (+me@example.org)', 2 at a time to a host"


def test_hosts_are_counted_as_the_limit_tells_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # As `host_of` of the engine has them.
    one = [
        b"https://example.org", b"https://www.Example.ORG./a?b@c", b"HTTP://user:pass@example.org:8080/",
        b" https://example.org?x ",
    ]  # fmt: skip
    assert count_hosts(one) == 1
    others = [b"http://127.0.0.1:8080/x", b"http://[2001:db8::1]:80/", "https://bücher.example/".encode()]
    assert count_hosts([*others, b"https://www./"]) == 4
    assert count_hosts([b"https:///path", b"https://example.org:port/", b"ftp://a.example/", b"example.org", b""]) == 0
    monkeypatch.setattr(source, "HOSTS_COUNTED", 3)
    assert count_hosts(b"https://h%d.example/" % n for n in range(100)) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--web", "live", "--yes"], "--web live: the real internet has no list; give one with --urls: a"),
        (["--web", "live", "--urls", "list"], "there is no terminal to ask at; give --yes to agree"),
        (["--web", "live", "--urls", "list", "--yes", "--link", "lan"], "--link conflicts with --web live"),
        (["--web", "live", "--urls", "list", "--yes", "--contact", "(me)"], "--contact: '(me)' is not valid"),
        (["--web", "live", "--urls", "list", "--yes", "--per-host-interval", "x"], "--per-host-interval: 'x'"),
        (["--per-host", "2"], "--per-host requires --web live"),
        (["--web", "plain", "--per-host-interval", "1s"], "--per-host-interval requires --web live"),
    ],
)
@pytest.mark.parametrize("verb", ["bench", "try"])
def test_what_cannot_be_is_one_line(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    verb: str,
    arguments: list[str],
    said: str,
) -> None:
    make_subject("one")
    (tmp_path / "list").write_text("https://a.example/\n", encoding="utf-8")
    ended = httpdyno(verb, "one", "--subjects", str(subject_folders), *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_an_empty_pipe_is_no_list_for_the_live_web(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("one")
    ended = httpdyno(
        "try", "one", "--subjects", str(subject_folders), "--web", "live", "--yes", "--limit", "3", stdin=b""
    )
    assert ended.code == 2
    assert "standard input: the list has no URL" in ended.err


def test_a_piped_list_is_fetched_from_the_live_web(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("one")
    ended = httpdyno(
        "try", "one", "--subjects", str(subject_folders), "--web", "live", "--yes", "--format", "json",
        stdin=b"https://a.example/\nhttps://a.example/2\n",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert [(row["totalUrls"], row["verdict"], row["wrong"]) for row in ended.rows] == [(2, "UNVERIFIED", None)]


def test_a_file_of_that_name_is_not_the_live_web(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path
) -> None:
    make_subject("one")
    (tmp_path / "live").write_text("https://a.example/\n", encoding="utf-8")
    ended = httpdyno(
        "try", "one", "--subjects", str(subject_folders), "--web", "live", "--urls", "live", "--yes", "--format", "json"
    )
    assert [row["verdict"] for row in ended.rows] == ["UNVERIFIED"]


def test_a_contact_of_the_environment_belongs_to_the_command(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPDYNO_CONTACT", "me@example.org")
    make_subject("one")
    (tmp_path / "list").write_text("https://a.example/\n", encoding="utf-8")
    ended = httpdyno(
        "bench", "one", "--subjects", str(subject_folders), "--web", "live", "--yes", "--urls", "list", "--quick"
    )
    assert ended.code == 0, ended.err
    assert f"httpdyno/{__version__} (HTTP client benchmark; +me@example.org)" in ended.err
    lines = [line for line in ended.out.splitlines() if line.startswith("UNVERIFIED: ")]
    assert lines == ["UNVERIFIED: the right answers of the internet are unknown: none was checked; no client is ranked"]
    manifest = next((tmp_path / "runs").iterdir()) / "manifest.json"
    assert '"--contact"' in manifest.read_text(encoding="utf-8")


def test_defaults_ask_for_little() -> None:
    options = BenchOptions(web="live")
    check_conflicts(options)
    assert (options.per_host, options.per_host_interval_s, options.yes) == (None, None, False)


def test_urls_of_a_table_of_domains(httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "top.csv").write_text("1,a.example\n2,10.0.0.1\n3,b.example\n4,A.example\n", encoding="utf-8")
    ended = httpdyno("urls", "top.csv")
    assert (ended.code, ended.out) == (0, "https://a.example/\nhttps://b.example/\n")
    assert ended.err == "httpdyno: top.csv: left out 2 of 4 (addresses instead of names: 1, duplicates: 1)\n"
    assert (
        httpdyno("urls", "-", "--limit", "1", stdin=(tmp_path / "top.csv").read_bytes()).out == "https://a.example/\n"
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("live", "urls live: the real internet has no list of its own; give a file or https://..."),
        (
            "https://127.0.0.1:1/list.csv",
            "https://127.0.0.1:1/list.csv: cannot be fetched: Connection refused; check the address, or"
            " download it yourself and name the file",
        ),
    ],
)
def test_urls_that_cannot_be_had(httpdyno: Command, source: str, said: str) -> None:
    ended = httpdyno("urls", source)
    assert (ended.code, ended.out, ended.err) == (2, "", f"httpdyno: {said}\n")
