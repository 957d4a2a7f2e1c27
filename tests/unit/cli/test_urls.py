"""`urls`: the URLs of a web, of a list, of what is piped in."""

from pathlib import Path

from doubles.command_line import Command


def test_urls_of_a_web_and_of_a_list(httpdyno: Command, tmp_path: Path) -> None:
    assert httpdyno("urls", "plain", "--limit", "1").out == "https://host0.example/\n"
    (tmp_path / "list.txt").write_text("a.example\nb.example\n", encoding="utf-8")
    assert httpdyno("urls", "list.txt").out == "https://a.example\nhttps://b.example\n"
    assert httpdyno("urls", "-", "--limit", "1", stdin=b"c.example\nd.example\n").out == "https://c.example\n"
