"""A crawl or a load on the nodes of a Ray cluster: the only package that imports Ray.

Only control data passes through Ray: commands, figures, exit codes and the reports of a load. Lists, rows and contents
stay in files.
"""

from collections.abc import Sequence


def run_on_cluster(verb: str, words: Sequence[str]) -> int:
    """Run ``fetch`` or ``load`` with the option ``--cluster`` among its words; return the exit code.

    Raises ``UsageError`` for a command line or a cluster that cannot be used, and ``Interrupted`` after a signal.
    """
    if verb == "load":
        from httpdyno.cluster.load import load_on_cluster

        return load_on_cluster(words)
    from httpdyno.cluster.fetch import fetch_on_cluster

    return fetch_on_cluster(words)
