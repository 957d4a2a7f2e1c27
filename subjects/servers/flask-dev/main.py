"""Serves the Flask application with the development server that Flask brings."""

import logging
import os
import signal
import sys

from settings import SettingError, read_settings


def main() -> int:
    """Serve until SIGTERM; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"flask-dev: {error}", file=sys.stderr)
        return 127
    # At once: the threads of requests in flight would be waited for.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    # It prints a line for each request otherwise.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    from app import app

    app.run(settings.host, settings.port, threaded=settings.threads is None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
