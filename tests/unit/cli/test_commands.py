"""The command itself: which verbs it has, and which version it is."""

from doubles.command_line import Command


def test_help_lists_every_verb(httpdyno: Command) -> None:
    ended = httpdyno("--help")
    assert ended.code == 0
    for verb in ("bench", "try", "room", "origin", "urls", "doctor", "subjects", "runs", "--install-completion"):
        assert verb in ended.out


def test_version(httpdyno: Command) -> None:
    ended = httpdyno("--version")
    assert ended.out.startswith("httpdyno ")
    assert ended.code == 0
