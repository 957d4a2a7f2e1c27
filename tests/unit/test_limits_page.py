"""What pages of docs say of the limits of verbs is what the verbs do."""

from pathlib import Path

from doubles.command_line import all_commands
from httpdyno.experiments.capacity.extent import MOST_TRIALS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def text_of(page: str) -> str:
    """Give a page as one line: where its lines end says nothing."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def test_verbs_that_choose_no_version_of_http_are_named() -> None:
    having = {
        name for name, command in all_commands().items() if "http_version" in {one.name for one in command.params}
    }
    assert having == {"bench", "try", "tune"}
    assert "`--http-version` is `bench`'s, `try`'s and `tune`'s" in text_of("limits.md")


def test_the_guide_says_how_many_trials_are_too_many() -> None:
    assert f"more than {MOST_TRIALS:,} trials are refused" in text_of("guide/capacity.md")
