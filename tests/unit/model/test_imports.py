"""The command starts at once: its first imports are light."""

import subprocess
import sys


def test_model_and_errors_import_nothing_heavy() -> None:
    program = (
        "import sys, httpdyno.model, httpdyno.errors; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "httpdyno" in modules
    assert not {"polars", "numpy", "pydantic", "rich"} & set(modules)
