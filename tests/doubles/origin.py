"""The real origin on free ports of this machine, for tests of its clients."""

import json
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from httpdyno.lab.engine import Engine

__all__ = ["Origin"]

_PATIENCE_S: Final = 300.0
_AT: Final = re.compile(r"^\w+ at (?P<scheme>https?|dns)://127\.0\.0\.1:(?P<port>\d+)$", re.MULTILINE)


class Origin:
    """A running origin: its ports, and its final counts."""

    def __init__(self, engine: Engine, folder: Path, *, web: str = "plain", options: Sequence[str] = ()) -> None:
        self._report = folder / "report.json"
        self._said = folder / "said"
        argv = ["origin", "--web", web, "--listen", "127.0.0.1:0", "--tls-port", "0", "--report", str(self._report)]
        argv += options
        count = 3 if "--dns-port" in options else 2
        with self._said.open("wb") as said:
            self._process = subprocess.Popen([engine.path, *argv], stdin=subprocess.DEVNULL, stderr=said)
        until = time.monotonic() + _PATIENCE_S
        while len(ports := dict(_AT.findall(self._said.read_text()))) < count:
            assert self._process.poll() is None, self._said.read_text()
            assert time.monotonic() < until, "the origin does not say where it is"
            time.sleep(0.01)
        self.ports = {scheme: int(port) for scheme, port in ports.items()}

    @property
    def memory_kib(self) -> int:
        """Its resident memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def stop(self) -> dict[str, Any]:
        """End it; return its counts."""
        self._process.terminate()
        assert self._process.wait(_PATIENCE_S) == 0
        counted: dict[str, Any] = json.loads(self._report.read_text())["origin"]
        return counted

    def kill(self) -> None:
        """End it in any state."""
        self._process.kill()
        self._process.wait()
