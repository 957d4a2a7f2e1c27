"""Serves two documents with Apache, as an ordinary user, from a configuration in a temporary folder."""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from settings import SettingError, Settings, read_settings

HERE = Path(__file__).resolve().parent
NOBODY = 65534
THREADS = 25
PROCESSES = 16
"""Apache's own defaults, from which other values follow."""


def main() -> NoReturn:
    """Become the shell that runs Apache, or end with status 127."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"apache: {error}", file=sys.stderr)
        sys.exit(127)
    # From here on there is a folder to remove: the shell does so once it runs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    folder = Path(tempfile.mkdtemp(prefix="apache-"))
    try:
        lay_out(folder, settings)
        drop_root(folder)
        become_shell(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def become_shell(folder: Path) -> NoReturn:
    """Replace this program by the shell that runs Apache."""
    os.chdir(folder)
    command = shutil.which("apache2") or "apache2"
    options = ["-f", str(folder / "apache2.conf"), "-D", "FOREGROUND"]
    os.execv("/bin/sh", ["/bin/sh", "serve.sh", str(folder), command, *options])


def lay_out(folder: Path, settings: Settings) -> None:
    """Write the configuration and the documents."""
    (folder / "documents").mkdir()
    (folder / "documents" / "plain").write_text("Hello, World!")
    shutil.copyfile(HERE / "document.json", folder / "documents" / "json")
    shutil.copyfile(HERE / "serve.sh", folder / "serve.sh")
    places = {"FOLDER": folder, "HOST": settings.host, "PORT": settings.port, "PROCESSES": processes(settings)}
    text = (HERE / "apache2.conf.in").read_text()
    for name, value in places.items():
        text = text.replace(f"@{name}@", str(value))
    (folder / "apache2.conf").write_text(text)


def processes(settings: Settings) -> str:
    """Return the lines that set the number of processes and threads; none by default."""
    if settings.threads is None and settings.workers is None:
        return ""
    threads, most = settings.threads or THREADS, settings.workers or PROCESSES
    lines = [
        f"ThreadLimit {threads}",
        f"ThreadsPerChild {threads}",
        f"ServerLimit {most}",
        f"MaxRequestWorkers {threads * most}",
    ]
    if settings.workers:
        # All of them start at the beginning, and none ends for being idle.
        lines += [f"StartServers {most}", f"MaxSpareThreads {threads * (most + 1)}", f"MinSpareThreads {threads}"]
    return "\n".join(lines)


def drop_root(folder: Path) -> None:
    """As root, change the user of the process and of the folder to nobody: Apache does not serve as root."""
    if os.geteuid() != 0:
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


if __name__ == "__main__":
    main()
