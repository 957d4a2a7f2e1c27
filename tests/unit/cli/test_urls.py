"""`urls`: the URLs of a web, of a list, of piped input."""

from pathlib import Path

from doubles.command_line import Command


def test_urls_of_a_web_and_of_a_list(httpdyno: Command, tmp_path: Path) -> None:
    assert httpdyno("urls", "plain", "--limit", "1").out == "https://host0.example/\n"
    (tmp_path / "list.txt").write_text("a.example\nb.example\n", encoding="utf-8")
    assert httpdyno("urls", "list.txt").out == "https://a.example\nhttps://b.example\n"
    assert httpdyno("urls", "-", "--limit", "1", stdin=b"c.example\nd.example\n").out == "https://c.example\n"


def test_a_list_is_named_as_other_verbs_name_it(httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a.example\n", encoding="utf-8")
    assert httpdyno("urls", "--urls", "plain").out == "https://a.example\n"
    assert httpdyno("urls", "--urls", "-", stdin=b"c.example\n").out == "https://c.example\n"
    # Where a list is required, a name is that of a file.
    assert "top-sites: cannot be read: No such file" in httpdyno("urls", "--urls", "top-sites").err
    for typed in ([], ["plain", "--urls", "plain"]):
        ended = httpdyno("urls", *typed)
        said = "httpdyno: urls: name one web or one list, as in: httpdyno urls domains.csv\n"
        assert (ended.code, ended.out, ended.err) == (2, "", said)


def test_lines_without_a_url_are_reported_and_printed(httpdyno: Command, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("two words\n!!!\n", encoding="utf-8")
    ended = httpdyno("urls", "list")
    assert (ended.code, ended.out) == (0, "two words\nhttps://!!!\n")
    assert ended.err == "httpdyno: list: 2 of 2 lines are not URLs, first: line 1 ('two words')\n"
