"""The words of `fetch --cluster` and `load --cluster`."""

import pytest

from httpdyno.cli import names_cluster
from httpdyno.cluster.command_line import (
    ClusterName,
    is_for_cluster,
    last_value,
    parse_cluster,
    refuse_options,
    take_options,
)
from httpdyno.errors import UsageError


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--cluster", "auto"], True),
        (["-c", "9", "--cluster=local:3"], True),
        (["--clusters", "auto"], False),
        ([], False),
        (["--as", "wrk", "--", "--cluster", "auto"], False),
    ],
)
def test_the_option_is_found_before_the_words_of_another_tool(words: list[str], expected: bool) -> None:
    assert is_for_cluster(words) is expected
    assert names_cluster(["fetch", *words]) is names_cluster(["load", *words]) is expected
    assert not names_cluster(["room", *words])


@pytest.mark.parametrize(
    ("text", "local_nodes"),
    [("auto", 0), ("10.0.0.5:6379", 0), ("head.example:1", 0), ("[::1]:65535", 0), ("local:1", 1), ("local:64", 64)],
)
def test_a_cluster_has_a_name(text: str, local_nodes: int) -> None:
    assert parse_cluster(text) == ClusterName(text, local_nodes)


@pytest.mark.parametrize(
    "text",
    [
        *("", "Auto", "local", "local:", "local:0", "local:65", "local:-1", "local:3x", "local:²", "ray://a:1"),
        *("host", "host:", ":1", "host:0", "host:65536", "host:x", "a b:1", "http://a:1", "::1:1"),
    ],
)
def test_other_names_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_cluster(text)
    assert refused.value.line.startswith("--cluster: ")
    assert "write" in refused.value.line or "run the command on a node" in refused.value.line


def test_options_of_the_cluster_are_separated_in_each_form() -> None:
    words = ["--from", "a", "-c", "9", "--into=b", "-ofile", "-o", "x", "-o=y", "--", "--from", "z"]
    others, values = take_options(words, {"--from": None, "--into": None, "--output": "o"})
    assert others == ["-c", "9", "--", "--from", "z"]
    assert values == {"--from": ["a"], "--into": ["b"], "--output": ["file", "x", "y"]}
    assert last_value(values, "--into") == "b"
    assert last_value(values, "--absent") is None
    with pytest.raises(UsageError, match="--output: given twice"):
        last_value(values, "--output")


def test_a_missing_value_is_refused() -> None:
    with pytest.raises(UsageError, match="--from: its value is missing"):
        take_options(["--into=b", "--from"], {"--from": None, "--into": None})


def test_an_option_that_contradicts_the_cluster_is_refused_with_the_reason() -> None:
    refused = {"--shard": "it fetches all shards; leave it out"}
    with pytest.raises(UsageError, match="^--shard conflicts with --cluster: it fetches all shards; leave it out$"):
        refuse_options(["-q", "--shard=1/3"], refused)
    refuse_options(["-q", "--shards", "--", "--shard"], refused)
