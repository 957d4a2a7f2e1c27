"""Ends a search: keeps what was found, for ``--concurrency auto``, or says why nothing is kept."""

from datetime import UTC, datetime

from httpdyno.experiments.beginning import Ended
from httpdyno.experiments.crawl.tuned import found_for, options_found_for
from httpdyno.experiments.tune.tune import Tune
from httpdyno.experiments.tune.tuning import chosen_words, concluded, disturbed_words, uncertain_words
from httpdyno.store import Tuned, keep_tuned

__all__ = ["end_search"]


def end_search(ended: Ended) -> bool:
    """Keep what was found for each client; return whether something was."""
    search, place = ended.experiment, ended.place
    assert isinstance(search, Tune), "only a search finds a concurrency"
    kept = []
    found_quickly = False
    for subject in ended.subjects:
        trials = [trial for trial in ended.trials if trial.subject == subject.id]

        def tell(words: str, whose: str = subject.id) -> None:
            ended.tell(words if len(ended.subjects) == 1 else f"{whose}: {words}")

        if disturbed := disturbed_words(trials):
            tell(disturbed)
        conclusion = concluded(trials)
        best = conclusion.best
        if not ended.whole or best is None:
            continue
        if search.quick:
            ended.tell(chosen_words(subject.id, subject.concurrency, conclusion))
            found_quickly = True
            continue
        if uncertain := uncertain_words(conclusion):
            tell(uncertain)
            continue
        found = Tuned(best.load, best.value, datetime.now(UTC), ended.run.folder.name)
        keep_tuned(place.cache, found_for(subject, place, search), found)
        ended.tell(chosen_words(subject.id, subject.concurrency, conclusion))
        kept.append(subject.id)
    if not ended.whole:
        ended.tell("the search was stopped before its end: what it has found so far is not kept for --concurrency auto")
    if kept:
        use = f"httpdyno bench {' '.join(kept)}{options_found_for(search)} --concurrency auto"
        ended.tell(f"kept for this machine; use it with: {use}")
    if found_quickly:
        names = " ".join(subject.id for subject in ended.subjects)
        ended.tell(f"a quick look is not kept for --concurrency auto; for that: httpdyno tune {names}")
    return bool(kept) or found_quickly
