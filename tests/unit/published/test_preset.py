"""Presets: the publication's clients, their concurrency and its number of URLs, at a scale."""

from fractions import Fraction

import pytest

from doubles.presets import preset_names, published_tables
from httpdyno.cli.options import experiment_verb
from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.experiments.crawl.options import VERB
from httpdyno.experiments.crawl.plan import USUAL_DEADLINE_S
from httpdyno.model import parse_duration_ns
from httpdyno.published import find_preset, parse_scale, published_names, published_table
from httpdyno.subjects.catalogue import read_catalogue

BENCH = find_preset("published", "bench")


def test_a_preset_of_bench_is_the_publication() -> None:
    assert BENCH.subjects == (
        "rust-reqwest", "deno-fetch", "go-net-http", "node-reqwest", "dotnet-httpclient", "ruby-async-http-rb",
        "python-aiohttp", "java-httpclient", "node-undici-request", "node-fetch",
    )  # fmt: skip
    assert [row["concurrency"] for row in BENCH.rows] == [150, 150, 125, 125, 75, 75, 75, 50, 50, 50]
    assert BENCH.urls == 10_000


def test_what_bench_does_by_default_is_what_the_publication_fixed() -> None:
    published = BENCH.circumstances
    defaults = {parameter.name: parameter.default for parameter in experiment_verb(VERB).params}
    assert parse_duration_ns(defaults["timeout"], name="--timeout") == 1e9 * (published.timeout_s or 0)
    assert (defaults["duration"], USUAL_DEADLINE_S) == (None, published.deadline_s)


def test_subjects_get_the_published_concurrency_and_others_keep_theirs() -> None:
    go, rust = read_catalogue().select(["go-net-http", "rust-reqwest"])
    odd = type(go)("my-client", go.kind, "C", "mine", go.folder, ("./mine",), concurrency=3)
    other = type(go)(go.id, go.kind, go.language, go.method, go.folder, go.run_argv, concurrency=9)
    assert [subject.concurrency for subject in BENCH.with_concurrency([odd, other, rust])] == [3, 125, 150]


@pytest.mark.parametrize(
    ("text", "urls"), [("1", 10_000), ("1/10", 1000), ("0.05", 500), (" 1/3 ", 3333), ("1/1000000", 1)]
)
def test_a_scale_takes_that_share_of_the_urls(text: str, urls: int) -> None:
    assert BENCH.scaled_urls(parse_scale(text)) == urls


@pytest.mark.parametrize(
    "text", ["0", "2/0", "0/3", "-1/2", "2", "11/10", "", "a tenth", "1/2/3", "nan", "1e999999999", "٣/٤"]
)
def test_a_scale_that_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="--scale: .* is not a share; write it like 1/10") as refused:
        parse_scale(text)
    assert refused.value.exit_code == 2


def test_an_unknown_preset_is_refused_with_the_known_names() -> None:
    with pytest.raises(
        UnknownName, match="--preset: bench has no preset 'publisht'; choose from: published"
    ) as refused:
        find_preset("publisht", "bench")
    assert refused.value.exit_code == 2
    with pytest.raises(UnknownName, match="choose from: none"):
        find_preset("published", "doctor")


def test_every_preset_has_a_name_of_its_own_within_its_experiment() -> None:
    for experiment in {published_table(name).experiment for name in published_names()}:
        names = preset_names(experiment)
        assert len(set(names)) == len(names)
    assert preset_names("bench") == ("published",)


def test_a_publication_without_a_number_of_urls_gives_none() -> None:
    (latency,) = published_tables("latency")
    assert latency.scaled_urls(Fraction(1, 2)) is None
