"""A crawl in figures: the seeds' own definitions, and right answers a second."""

from typing import Final

import numpy as np
import polars as pl

from httpdyno.judge.outcome import Ending
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.model import LinesSummary, Verdict
from httpdyno.stats import summarise_durations

__all__ = ["summarise_crawl"]

_FIGURES: Final = ("status", "start_ns", "duration_ns", "body_length", "precision_ns")
_COARSE_NS: Final = 10_000_000


def summarise_crawl(
    samples: pl.DataFrame, ending: Ending, *, urls_given: int, concurrency: int, deadline_s: float | None = None
) -> LinesSummary:
    """Put the samples of a trial into figures; ``deadline_s``: when it was to be ended, since its exec.

    ``time_ns`` is from exec to the end of the last line (start plus duration, at most the end of the process); to the
    end of the process where start times are coarser than 10 ms. The share and the rate of 2xx, and the mean length of
    their content, are the seeds': over all lines, for each second of ``time_ns``, over 2xx.

    ``right_per_s`` counts the right answers that had ended when the last URL was started, for each second from exec to
    that moment, or when the deadline came: one 5 s stall at the end then does not decide a 9 s trial. It is None where
    the list is shorter than four times the concurrency, so that its end is most of the trial, and where nobody knows
    which answers are right.
    """
    printed = samples.select(_FIGURES).filter(samples["line"].is_not_null())
    durations = summarise_durations(printed["duration_ns"].to_numpy()) if len(printed) else None
    if durations is None:
        return LinesSummary()
    status_class = printed["status"] // 100
    classes = dict(status_class.value_counts().iter_rows())
    ok = classes.get(2, 0)
    time_ns = _time_ns(printed, ending)
    long = urls_given >= LEAST_TURNS * concurrency
    exhausted_ns, right_per_s = _right_rate(samples, ending, time_ns, long=long, deadline_s=deadline_s)
    lengths = printed["body_length"].filter(status_class == 2).drop_nulls()  # 2xx
    return LinesSummary(
        urls=len(printed),
        time_ns=time_ns,
        exhausted_ns=exhausted_ns,
        mean_ns=durations.mean_ns,
        max_ns=durations.max_ns,
        p50_ns=durations.p50_ns,
        p99_ns=durations.p99_ns,
        ok_per_s=ok * 1e9 / time_ns if time_ns else None,
        ok_share=ok / len(printed),
        mean_body_length=float(np.mean(lengths.to_numpy())) if len(lengths) else None,
        right_per_s=right_per_s,
        status_2xx=ok,
        status_3xx=classes.get(3, 0),
        status_4xx=classes.get(4, 0),
        status_5xx=classes.get(5, 0),
        exceptions=classes.get(None, 0) + classes.get(1, 0),
    )


def _time_ns(printed: pl.DataFrame, ending: Ending) -> int | None:
    """From exec to the client's last line."""
    wall_ns = _wall_ns(ending)
    if wall_ns is None or ending.started_at_ns is None:
        return None
    if int(printed["precision_ns"].to_numpy().min()) > _COARSE_NS:
        return wall_ns
    last_ns = int((printed["start_ns"] + printed["duration_ns"]).to_numpy().max())
    return min(max(last_ns - ending.started_at_ns, 0), wall_ns)


def _wall_ns(ending: Ending) -> int | None:
    if ending.started_at_ns is None or ending.ended_at_ns is None:
        return None
    return ending.ended_at_ns - ending.started_at_ns


def _right_rate(
    samples: pl.DataFrame, ending: Ending, time_ns: int | None, *, long: bool, deadline_s: float | None
) -> tuple[int | None, float | None]:
    """When the list was exhausted, and right answers a second until then or until the deadline."""
    right = samples["verdict"] == Verdict.RIGHT.value
    started_at_ns = ending.started_at_ns
    if started_at_ns is None or not time_ns:
        return None, None
    rated = long and not (samples["verdict"] == Verdict.UNVERIFIED.value).any()
    if ending.cut_short and samples["line"].null_count():
        # Who answered nothing more until the deadline was as slow as that.
        lasted_ns = max(time_ns, min(_wall_ns(ending) or 0, round((deadline_s or 0) * 1e9)))
        return None, int(right.sum()) * 1e9 / lasted_ns if rated else None
    starts_ns = samples["start_ns"]
    last_start = int(starts_ns.drop_nulls().to_numpy().max())
    exhausted_ns = min(max(last_start - started_at_ns, 0), time_ns)
    if not rated or exhausted_ns == 0:
        return exhausted_ns, None
    ended = int((right & (starts_ns + samples["duration_ns"] <= last_start)).sum())
    return exhausted_ns, ended * 1e9 / exhausted_ns
