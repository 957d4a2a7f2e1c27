"""Ends a search: keeps what was found, for ``--concurrency auto``, or says why nothing is kept."""

from datetime import UTC, datetime

from httpdyno.experiments.beginning import Ended
from httpdyno.experiments.crawl.tuned import found_for, options_found_for
from httpdyno.experiments.tune.tune import Tune
from httpdyno.experiments.tune.tuning import chosen_words, concluded, disturbed_words, uncertain_words
from httpdyno.store import Tuned, keep_tuned

__all__ = ["end_search"]


def end_search(ended: Ended) -> bool:
    """Keep what was found; return whether something was."""
    (subject,), search, place, tell = ended.subjects, ended.experiment, ended.place, ended.tell
    assert isinstance(search, Tune), "only a search finds a concurrency"
    if disturbed := disturbed_words(ended.trials):
        tell(disturbed)
    if not ended.whole:
        tell("the search was stopped before its end: what it has found so far is not kept for --concurrency auto")
        return False
    conclusion = concluded(ended.trials)
    if uncertain := uncertain_words(conclusion):
        tell(uncertain)
        return False
    best = conclusion.best
    if best is None:
        return False
    found = Tuned(best.load, best.value, datetime.now(UTC), ended.run.folder.name)
    keep_tuned(place.cache, found_for(subject, place, search), found)
    tell(chosen_words(subject.id, subject.concurrency, conclusion))
    options = options_found_for(search)
    tell(f"kept for this machine; use it with: httpdyno bench {subject.id}{options} --concurrency auto")
    return True
