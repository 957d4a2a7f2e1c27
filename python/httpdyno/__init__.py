"""httpdyno measures HTTP clients, load tools and servers, and says how sure it is.

``load_run`` reads a measured run for a notebook or a script; everything else is the command ``httpdyno``.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from httpdyno.runs.notebook import LoadedRun

__all__ = ["__version__", "load_run"]
__version__ = "0.1.0"


def load_run(run: "str | PathLike[str]", *, runs: "str | PathLike[str]" = "runs") -> "LoadedRun":
    """Read a run that was measured.

    Parameters
    ----------
    run : str or path
        Its folder, its name below ``runs``, ``latest`` or ``previous``. A run that was stopped, or is still being
        made, gives the trials that are there.
    runs : str or path
        The folder that holds the runs.

    Returns
    -------
    LoadedRun
        With ``manifest``, ``trials``, ``samples``, ``table()``, ``figures()``, ``ranking()``, ``comparisons()`` and
        ``compare()``.

    Raises
    ------
    httpdyno.errors.UnknownName
        If there is no such run; the message names the newest ones.
    httpdyno.errors.UnreadableRun
        If it is damaged, is not a run, or was written by a newer version.

    Examples
    --------
    >>> run = httpdyno.load_run("latest")  # doctest: +SKIP
    >>> run.ranking("p99")  # doctest: +SKIP
    """
    # Imported here: reading the version does not import polars.
    from pathlib import Path

    from httpdyno.runs.notebook import LoadedRun
    from httpdyno.store import find_run, open_run

    opened = open_run(find_run(str(Path(run)), Path(runs)))
    return LoadedRun(opened.folder, opened.manifest, opened.trials, opened.ceilings)
