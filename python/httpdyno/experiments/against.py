"""``--against``: identify the origin of another machine before a run begins."""

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.experiment import Tell
from httpdyno.experiments.options import WEBS
from httpdyno.lab.engine import Engine, Reached
from httpdyno.model import LIVE

__all__ = ["agreed", "refuse_beside", "settled"]


def refuse_beside(*, link: str, peer: str | None = None) -> None:
    """Refuse options that conflict with another machine's network or origin."""
    if link != "direct":
        raise UsageError("--link conflicts with --against, which uses a real network; leave one out")
    if peer is not None:
        raise UsageError(
            f"--peer {peer} conflicts with --against, which uses the other machine's origin; leave one out"
        )


def agreed(
    against: str, engine: Engine, tell: Tell, *, web: str | None, seed: int | None
) -> tuple[str, str, int | None]:
    """Identify another machine's origin and choose the web: the named one, or the origin's.

    Return its URL, the web and the seed; None for the web's default seed.
    """
    if web == LIVE:
        raise UsageError("--against conflicts with --web live, which has no origin; leave one out")
    there = _reached(against, engine, tell)
    if web is None:
        if there.web not in WEBS:
            raise UsageError(f"{there.url} serves {there.web}, which is unknown here; give its file with --web")
        web, seed = there.web, there.seed if seed is None else seed
    _check_web(there, engine, web=web, seed=seed)
    return there.url, web, seed


def _reached(against: str, engine: Engine, tell: Tell) -> Reached:
    """Identify another machine's origin, and print it."""
    try:
        there = engine.reach(against)
    except InvalidValue as refused:
        # The engine reports a given file by another name.
        raise InvalidValue(f"--against: {refused.line.removeprefix('URL: ')}") from refused
    tell(f"{there.url} serves {there.web}, seed {there.seed}; round trip {there.rtt_min_ns / 1e6:.3f} ms")
    return there


def settled(against: str, engine: Engine, tell: Tell, *, web: str, seed: int | None) -> Reached:
    """Identify another machine's origin and require one web; without ``seed``, the origin's seed is used."""
    there = _reached(against, engine, tell)
    _check_web(there, engine, web=web, seed=there.seed if seed is None else seed, only=True)
    return there


def _check_web(there: Reached, engine: Engine, *, web: str, seed: int | None, only: bool = False) -> None:
    """Refuse an origin that serves an unexpected web; ``only``: no other web is possible."""
    here = engine.web(web, seed=seed)
    if here.digest != there.digest:
        another = "" if only else f"give --web {there.web} --seed {there.seed}, or "
        raise UsageError(
            f"{there.url} serves {there.web} with seed {there.seed}, expected {here.name} with seed {here.seed}; "
            f"{another}start it with --web {web} --seed {here.seed}"
        )
