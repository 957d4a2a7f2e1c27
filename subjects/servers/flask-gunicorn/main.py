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
    """Give gunicorn's options; all others are its own."""
    return [
        f"--bind={settings.host}:{settings.port}",
        f"--workers={settings.workers}",
        # Said by name: with one thread gunicorn would choose its other kind of worker, which answers no two requests
        # on one connection.
        "--worker-class=gthread",
        f"--threads={settings.threads}",
        # At SIGTERM requests in flight are not waited for.
        "--graceful-timeout=0",
        # It is a file in the user's home otherwise.
        "--no-control-socket",
        "--log-level=warning",
    ]


if __name__ == "__main__":
    main()
