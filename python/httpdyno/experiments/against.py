"""``--against``: identify the origin of another machine before a run begins."""

from dataclasses import replace

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.experiment import Tell
from httpdyno.experiments.options import WEBS, CallOptions
from httpdyno.lab.engine import Engine, Reached
from httpdyno.model import LIVE, Subject


def negotiate_web(
    against: str,
    engine: Engine,
    tell: Tell,
    *,
    web: str | None,
    seed: int | None,
    fixed: bool = False,
    link: str = "direct",
) -> Reached:
    """Identify another machine's origin, print it, and return it with the web and the seed of the run.

    Without ``web``, the origin's web is used; without ``seed``, the origin's seed, or the default of a named web. If
    ``fixed``, the experiment requires this web. An origin with another web or seed is refused, and so is an emulated
    ``link`` to it.
    """
    if link != "direct":
        raise UsageError("--link conflicts with --against, which uses a real network; leave one out")
    if web == LIVE:
        raise UsageError("--against conflicts with --web live, which has no origin; leave one out")
    try:
        there = engine.reach(against)
    except InvalidValue as refused:
        # The engine calls it URL.
        raise InvalidValue(
            refused.message if refused.option == "URL" else refused.line, option="--against"
        ) from refused
    tell(f"{there.url} serves {there.web}, seed {there.seed}; round trip {there.rtt_min_ns / 1e6:.3f} ms")
    if web is None and there.web not in WEBS:
        raise UsageError(f"{there.url} serves {there.web}, which is unknown here; give its file with --web")
    if seed is None and (web is None or fixed):
        seed = there.seed
    web = web or there.web
    here = engine.web(web, seed=seed)
    if here.digest != there.digest:
        another = "" if fixed else f"give --web {there.web} --seed {there.seed}, or "
        raise UsageError(
            f"{there.url} serves {there.web} with seed {there.seed}, expected {here.name} with seed {here.seed}; "
            f"{another}start it with --web {web} --seed {here.seed}"
        )
    return replace(there, web=web, seed=here.seed)


def server_settings(
    options: CallOptions, engine: Engine, tell: Tell, *, peer: Subject | None, default: str, fixed: bool = False
) -> dict[str, str | int | None]:
    """Return the settings of the server: another machine's origin, a peer, or the engine's origin of a web.

    ``default`` is the default web; ``fixed``: no other one is possible.
    """
    against, seed = options.against, options.seed
    web = default if fixed else options.web
    if against is not None:
        if peer is not None:
            raise UsageError(
                f"--peer {peer.id} conflicts with --against, which uses the other machine's origin; leave one out"
            )
        there = negotiate_web(against, engine, tell, web=web, seed=seed, fixed=fixed, link=options.link)
        against, web, seed = there.url, there.web, there.seed
    found = engine.web(web or default, seed=seed)
    return {
        "against": against,
        "peer": peer.id if peer else None,
        "peer_folder": str(peer.folder) if peer else None,
        "web": web or default,
        "seed": found.seed,
        "web_digest": found.digest,
    }
