"""Serves the Starlette application with uvicorn."""

import os
import signal
import sys

import uvicorn
from settings import SettingError, read_settings


def main() -> int:
    """Serve until SIGTERM; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"uvicorn: {error}", file=sys.stderr)
        return 127
    # uvicorn raises the signal that ended it again, for earlier handlers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.run(
        "app:app",
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        # At SIGTERM requests in flight are not awaited.
        timeout_graceful_shutdown=0,
        access_log=False,
        log_level="error",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
