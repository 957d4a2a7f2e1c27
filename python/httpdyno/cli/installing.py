"""Brings what subjects need before they are built, with progress on stderr."""

from collections.abc import Iterable

from httpdyno.cli.display import Display
from httpdyno.cli.terminal import messages
from httpdyno.lab.interruption import Interruption
from httpdyno.model import Subject
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.provision import plan_provision, provide, system_packages_allowed

__all__ = ["install_needs"]


def install_needs(subjects: Iterable[Subject], interruption: Interruption) -> None:
    """Bring toolchains and, where this user may, packages of the system; what is there already costs nothing."""
    provision = plan_provision(subjects, system_packages=system_packages_allowed())
    if provision:
        with interruption, Display(messages()) as display:
            provide(provision, cache_folder(), tell=display.provision, stop=lambda: interruption.requested)
