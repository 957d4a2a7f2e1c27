"""``--against``: the origin of another machine, asked who it is before a run begins."""

from httpdyno.errors import UsageError
from httpdyno.experiments.beginning import Tell
from httpdyno.experiments.options import WEBS
from httpdyno.lab.engine import Engine, Reached
from httpdyno.model import LIVE

__all__ = ["agreed", "refuse_beside", "settled"]


def refuse_beside(*, link: str, peer: str | None = None) -> None:
    """Refuse what would add to the way to another machine, or take the place of its origin.

    Raises
    ------
    UsageError
        If there is a link, or a server that plays the peer.
    """
    if link != "direct":
        raise UsageError("--link: beside --against the way is a real one, which nothing is added to; leave one out")
    if peer is not None:
        raise UsageError(f"--peer {peer}: beside --against the origin there answers; leave one of them out")


def agreed(
    against: str, engine: Engine, tell: Tell, *, web: str | None, seed: int | None
) -> tuple[str, str, int | None]:
    """Ask another machine's origin who it is, and agree on a web: the one that was named, else its own.

    Returns
    -------
    tuple
        The URL of the origin, the web, and its seed; None: the web's own.

    Raises
    ------
    UsageError
        If it plays another web than the one that was named, or none that is known here.
    InvalidValue
        If it cannot be reached, or is no origin of this version.
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
    """Ask another machine's origin who it is, and say so.

    Raises
    ------
    InvalidValue
        If it cannot be reached, or is no origin of this version.
    """
    there = engine.reach(against)
    tell(f"{there.url} plays {there.web}, seed {there.seed}; {there.rtt_min_ns / 1e6:.3f} ms there and back")
    return there


def settled(against: str, engine: Engine, tell: Tell, *, web: str, seed: int | None) -> Reached:
    """Ask another machine's origin who it is, where only one web will do; of which seed, it says itself.

    Raises
    ------
    UsageError
        If it plays another web, or one of another seed than the one that was given.
    InvalidValue
        If it cannot be reached, or is no origin of this version.
    """
    there = _reached(against, engine, tell)
    _check_web(there, engine, web=web, seed=there.seed if seed is None else seed, only=True)
    return there


def _check_web(there: Reached, engine: Engine, *, web: str, seed: int | None, only: bool = False) -> None:
    """Refuse an origin that plays another web than the one that is expected here; ``only``: no other web will do.

    Raises
    ------
    UsageError
        If it does.
    """
    here = engine.web(web, seed=seed)
    if here.digest != there.digest:
        another = "" if only else f"give --web {there.web} --seed {there.seed}, or "
        raise UsageError(
            f"{there.url} plays {there.web} with seed {there.seed}, and {here.name} with seed {here.seed} is expected"
            f" here; {another}start it with --web {web} --seed {here.seed}"
        )
