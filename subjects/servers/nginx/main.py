"""Serves two documents with nginx, as an ordinary user, from a configuration in a temporary folder."""

import os
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from settings import SettingError, Settings, read_settings

HERE = Path(__file__).resolve().parent
NOBODY = 65534
MOST_CONNECTIONS = 16_384
"""Of each process: nginx takes the memory for all of them when it starts."""


def main() -> NoReturn:
    """Become the shell that runs nginx, or end with status 127."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"nginx: {error}", file=sys.stderr)
        sys.exit(127)
    # From here on there is a folder to remove: the shell does so once it runs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    folder = Path(tempfile.mkdtemp(prefix="nginx-"))
    try:
        lay_out(folder, settings)
        drop_root(folder)
        become_shell(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def become_shell(folder: Path) -> NoReturn:
    """Replace this program by the shell that runs nginx."""
    os.chdir(folder)
    command = shutil.which("nginx") or "nginx"
    # Errors before the configuration is read go to stderr, too; the compiled-in path belongs to root.
    options = ["-e", "stderr", "-p", f"{folder}/", "-c", "nginx.conf"]
    os.execv("/bin/sh", ["/bin/sh", "serve.sh", str(folder), command, *options])


def lay_out(folder: Path, settings: Settings) -> None:
    """Write the configuration and the documents."""
    (folder / "documents").mkdir()
    (folder / "documents" / "plain").write_text("Hello, World!")
    shutil.copyfile(HERE / "document.json", folder / "documents" / "json")
    shutil.copyfile(HERE / "serve.sh", folder / "serve.sh")
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    places = {
        "HOST": settings.host,
        "PORT": settings.port,
        "WORKERS": settings.workers,
        "CONNECTIONS": min(limit, MOST_CONNECTIONS),
    }
    text = (HERE / "nginx.conf.in").read_text()
    for name, value in places.items():
        text = text.replace(f"@{name}@", str(value))
    (folder / "nginx.conf").write_text(text)


def drop_root(folder: Path) -> None:
    """As root, change the user of the process and of the folder to nobody: the configuration then needs no user."""
    if os.geteuid() != 0:
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


if __name__ == "__main__":
    main()
