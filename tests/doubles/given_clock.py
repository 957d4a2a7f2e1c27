"""A clock that a test controls: no test waits for it, and a slow machine does not make it expire."""


class GivenClock:
    """Stands in for the module `time` in code that waits; each reading advances it by `step_s`."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.step_s = 0.0

    def monotonic(self) -> float:
        """Return the time, which then moves on by one step."""
        self.now_s += self.step_s
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.now_s += seconds
