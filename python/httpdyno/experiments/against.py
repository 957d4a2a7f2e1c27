"""``--against``: the origin of another machine, asked who it is before a run begins."""

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.beginning import Tell
from httpdyno.experiments.options import WEBS
from httpdyno.lab.engine import Engine, Reached
from httpdyno.model import LIVE

__all__ = ["agreed", "refuse_beside", "settled"]


def refuse_beside(*, link: str, peer: str | None = None) -> None:
    """Refuse what would add to the way to another machine, or take the place of its origin."""
    if link != "direct":
        raise UsageError("--link: beside --against the way is a real one, which nothing is added to; leave one out")
    if peer is not None:
        raise UsageError(f"--peer {peer}: beside --against the origin there answers; leave one of them out")


def agreed(
    against: str, engine: Engine, tell: Tell, *, web: str | None, seed: int | None
) -> tuple[str, str, int | None]:
    """Ask another machine's origin who it is, and agree on a web: the one that was named, else its own.

    What comes back is its URL, the web and the seed; no seed is the web's own.
    """
    if web == LIVE:
        raise UsageError("--against: the real internet is played by no origin; leave out --web live, or --against")
    there = _reached(against, engine, tell)
    if web is None:
        if there.web not in WEBS:
            raise UsageError(f"{there.url} plays {there.web}, which is none of the webs here; give its file with --web")
        web, seed = there.web, there.seed if seed is None else seed
    _check_web(there, engine, web=web, seed=seed)
    return there.url, web, seed


def _reached(against: str, engine: Engine, tell: Tell) -> Reached:
    """Ask another machine's origin who it is, and say so."""
    try:
        there = engine.reach(against)
    except InvalidValue as refused:
        # The engine knows what it was given by another name.
        raise InvalidValue(f"--against: {refused.line.removeprefix('URL: ')}") from refused
    tell(f"{there.url} plays {there.web}, seed {there.seed}; {there.rtt_min_ns / 1e6:.3f} ms there and back")
    return there


def settled(against: str, engine: Engine, tell: Tell, *, web: str, seed: int | None) -> Reached:
    """Ask another machine's origin who it is, where only one web will do; without a ``seed``, its own seed is taken."""
    there = _reached(against, engine, tell)
    _check_web(there, engine, web=web, seed=there.seed if seed is None else seed, only=True)
    return there


def _check_web(there: Reached, engine: Engine, *, web: str, seed: int | None, only: bool = False) -> None:
    """Refuse an origin that plays another web than the one that is expected here; ``only``: no other web will do."""
    here = engine.web(web, seed=seed)
    if here.digest != there.digest:
        another = "" if only else f"give --web {there.web} --seed {there.seed}, or "
        raise UsageError(
            f"{there.url} plays {there.web} with seed {there.seed}, and {here.name} with seed {here.seed} is expected"
            f" here; {another}start it with --web {web} --seed {here.seed}"
        )
