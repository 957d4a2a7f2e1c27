"""Private certificate stores: files that a runtime or library trusts instead of the system's."""

import os
from pathlib import Path

from httpdyno.subjects.needs import find_program

__all__ = ["bundles_within", "java_trust_stores"]


def bundles_within(folder: Path) -> list[Path]:
    """List the bundles of Python's ``certifi`` below a folder, whatever package carries them."""
    return sorted(path for path in folder.rglob("cacert.pem") if path.parent.name == "certifi")


def java_trust_stores() -> tuple[Path, ...]:
    """List the store of this machine's Java, unless it is the system's in ``/etc/ssl``, which every room replaces."""
    home = os.environ.get("JAVA_HOME")
    java = find_program("java")
    if home is None and java is None:
        return ()
    # /usr/bin/java leads through links to <home>/bin/java.
    top = Path(home) if home else java.path.resolve().parent.parent if java and java.path else Path("/")
    store = (top / "lib" / "security" / "cacerts").resolve()
    return (store,) if store.is_file() and not store.is_relative_to("/etc/ssl") else ()
