"""Serves the Flask application with Flask's own development server."""

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
    # At once: otherwise the process waits for the threads of requests in flight.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    # Otherwise it prints a line for each request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    from app import app

    app.run(settings.host, settings.port, threaded=settings.threads is None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
