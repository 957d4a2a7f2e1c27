"""Modules that make the records of runs that another program has kept, by the name of the experiment.

Such a run has the reports of that program. A module here has ``MAKER``, a ``store.RecordMaker``.
"""

from typing import Final

__all__ = ["RECORD_MAKERS"]

RECORD_MAKERS: Final = {"load": "httpdyno.experiments.load.records"}
"""By the name in the manifest. Imported by name: an experiment lies above the store that reads its runs."""
