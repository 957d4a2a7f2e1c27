"""Serves the Flask application with gunicorn, in worker processes of several threads each."""

import os
import sys
from typing import NoReturn

from settings import SettingError, Settings, read_settings


def main() -> NoReturn:
    """Become gunicorn, or end with status 127."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"flask-gunicorn: {error}", file=sys.stderr)
        sys.exit(127)
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", *options(settings), "app:app"])


def options(settings: Settings) -> list[str]:
    """Return gunicorn's options; all others keep their defaults."""
    return [
        f"--bind={settings.host}:{settings.port}",
        f"--workers={settings.workers}",
        # Explicit: with one thread gunicorn would choose its other kind of worker, which answers one request a
        # connection.
        "--worker-class=gthread",
        f"--threads={settings.threads}",
        # At SIGTERM requests in flight are not awaited.
        "--graceful-timeout=0",
        # Otherwise it is a file in the user's home.
        "--no-control-socket",
        "--log-level=warning",
    ]


if __name__ == "__main__":
    main()
