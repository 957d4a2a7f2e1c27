"""The line that says what a link was measured to be, beside what was asked."""

from httpdyno.model import Link, LinkPath, Outcome, PathCounters, Trial, format_rate

__all__ = ["link_line"]


def link_line(trial: Trial) -> str | None:
    """Describe what was found of a trial's link before the trial.

    None for a direct link, one that nobody measured, and one that missed, of which the trial's own reason tells.
    """
    found = trial.counters.link
    if found is None or found.rtt_p50_ns is None or trial.outcome is Outcome.REFUSED:
        return None
    link = Link.parse(trial.link)
    parts = [f"round trip {link.round_trip_ns / 1e6:.4g} ms, measured {found.rtt_p50_ns / 1e6:.4g} ms"]
    parts += _rate("up", link.up, found.up)
    parts += _rate("down", link.down, found.down)
    return f"link {trial.link}: {'; '.join(parts)}"


def _rate(way: str, path: LinkPath, found: PathCounters) -> list[str]:
    if path.rate_bits_per_s is None or found.goodput_bits_per_s is None or found.goodput_expected_bits_per_s is None:
        return []
    asked = _rounded(found.goodput_expected_bits_per_s)
    return [f"{way} {asked} for content, measured {_rounded(found.goodput_bits_per_s)}"]


def _rounded(bits_per_s: float) -> str:
    """Write a rate with four digits that matter."""
    value = float(f"{bits_per_s:.4g}")
    return format_rate(round(value)) if value >= 1 else "nothing"
