"""A clock that goes as a test says: no test has to wait for it, and no slow machine makes it run out."""


class GivenClock:
    """Stands in for the module `time` in what waits; each look at it takes as long as `step_s` says."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.step_s = 0.0

    def monotonic(self) -> float:
        """Return the time, which then moves on by one step."""
        self.now_s += self.step_s
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Let that much time pass, at once."""
        self.now_s += seconds
