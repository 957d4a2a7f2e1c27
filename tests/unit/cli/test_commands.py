"""The command itself: which verbs it has, and which version it is."""

import re

from doubles.command_line import Command


def test_help_lists_every_verb(httpdyno: Command) -> None:
    ended = httpdyno("--help")
    assert ended.code == 0
    for verb in ("bench", "try", "room", "origin", "urls", "doctor", "subjects", "runs", "--install-completion"):
        assert verb in ended.out


def test_verbs_stand_in_groups(httpdyno: Command) -> None:
    groups = re.findall(r"^(\S.*):\n((?:  .*\n)+)", httpdyno("--help").out, re.MULTILINE)
    verbs = {title: re.findall(r"^  ([a-z-]+)  ", lines, re.MULTILINE) for title, lines in groups}
    verbs.pop("Options")
    assert verbs == {
        "Measure": ["try", "bench", "tune", "load", "capacity", "cost", "latency", "conform", "service"],
        "Inspect stored runs": ["report", "judge", "compare", "plan", "query", "published", "runs"],
        "Parts, as tools of their own": [
            "urls",
            "room",
            "origin",
            "load-merge",
            "clock",
            "fetch",
            "split",
            "merge",
            "link",
        ],
        "This machine": ["doctor", "verify-generator", "subjects"],
    }


def test_version(httpdyno: Command) -> None:
    ended = httpdyno("--version")
    assert ended.out.startswith("httpdyno ")
    assert ended.code == 0
