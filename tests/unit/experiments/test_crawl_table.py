"""The table of a crawl: one row a subject, those that can be believed first, none left out."""

from dataclasses import replace

from httpdyno.experiments.registry import definition_of
from httpdyno.model import CrawlSummary, Outcome, Tally, Trial, Validity

GOOD = Trial(
    trial=0,
    block=0,
    position=0,
    experiment="crawl",
    condition="",
    subject="a",
    language="C",
    method="m",
    version="1",
    concurrency=10,
    web="plain",
    seed=1,
    link="direct",
    timeout_ns=10**9,
    keepalive=True,
    check="",
    http_version="",
    urls_given=10,
    outcome=Outcome.OK,
    validity=Validity.VALID,
    summary=CrawlSummary(urls=10, right_per_s=50.0),
    tally=Tally(right=10),
)


def named(subject: str, right_per_s: float, **changes: object) -> Trial:
    return replace(GOOD, subject=subject, summary=CrawlSummary(urls=10, right_per_s=right_per_s), **changes)  # type: ignore[arg-type]


def failed(subject: str, outcome: Outcome, reason: str) -> Trial:
    return replace(
        GOOD, subject=subject, outcome=outcome, reason=reason, validity=None, summary=None, tally=None, version=None
    )


def test_rows_are_ranked_by_right_answers() -> None:
    trials = [named("slow", 10), named("fast", 90), named("fast", 110), named("slow", 12)]
    table = definition_of("bench").table(trials)
    assert table.values("subject") == ("fast", "slow")
    assert table.values("rightPerSec") == (100.0, 11.0)
    assert table.values("verdict") == ("VALID", "VALID")


def test_what_cannot_be_believed_is_shown_and_not_ranked() -> None:
    trials = [
        failed("z-missing", Outcome.UNAVAILABLE, "needs go"),
        named("liar", 500, validity=Validity.INCORRECT, validity_reason="9 of 10 answers are wrong"),
        failed("b-broken", Outcome.CRASHED, "killed by SIGSEGV"),
        named("honest", 10),
        named("fickle", 99),
        failed("fickle", Outcome.HUNG, "printed nothing"),
    ]
    table = definition_of("bench").table(trials)
    assert table.values("subject") == ("honest", "liar", "fickle", "b-broken", "z-missing")
    assert table.values("verdict") == ("VALID", "INCORRECT", "hung", "crashed", "unavailable")
    assert table.values("totalUrls")[-1] is None
    notes = {table.values("subject")[note.row]: note.text for note in table.notes if note.row is not None}
    assert "needs go" in notes["z-missing"]
    assert "SIGSEGV" in notes["b-broken"]


def test_no_trials_are_no_rows() -> None:
    table = definition_of("bench").table([])
    assert table.rows == ()
    assert "rightPerSec" in {column.name for column in table.columns}
