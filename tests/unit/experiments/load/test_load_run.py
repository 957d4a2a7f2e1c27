"""A load that was started before it is measured: a wish to stop that came in between ends its first trial in order."""

import sys
import time
from pathlib import Path

import pytest

from httpdyno.experiments.load.options import LoadOptions
from httpdyno.experiments.load.run import measure_load
from httpdyno.experiments.load.started import start_load
from httpdyno.lab.interruption import Interruption

REPORT = Path(__file__).parents[3] / "fixtures" / "load-reports" / "open.json"


@pytest.fixture
def engine(tmp_path: Path) -> str:
    """Make one that reports when it is told to stop; each start leaves a mark."""
    path = tmp_path / "engine"
    path.write_text(
        f"#!{sys.executable}\nimport signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        f"open({str(tmp_path / 'starts')!r}, 'a').write('x')\n"
        "signal.sigwait([signal.SIGTERM])\n"
        f"open(sys.argv[2].partition('=')[2], 'w').write(open({str(REPORT)!r}).read())\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return str(path)


def test_a_wish_to_stop_that_came_before_ends_the_first_trial_and_begins_no_other(engine: str, tmp_path: Path) -> None:
    options = LoadOptions(urls=("http://a/",))
    interruption = Interruption()
    marks = tmp_path / "starts"
    begun: list[int] = []
    with start_load(engine, options.arguments()) as started:
        while not marks.exists():
            assert started.process.poll() is None
            time.sleep(0.01)
        interruption.request()
        ended = measure_load(
            started,
            options,
            repeat=3,
            runs=None,
            command=("httpdyno", "load"),
            interruption=interruption,
            begins=begun.append,
        )
    assert (len(ended.trials), ended.whole, begun) == (1, False, [0])
    assert marks.read_text() == "x"
