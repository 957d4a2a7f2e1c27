"""Progress on stderr: builds, then trials. Bars on a terminal; otherwise a line for each block of trials."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID
from rich.table import Column
from rich.text import Text

from httpdyno.cli.terminal import tell
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import Expectations
from httpdyno.judge.reference import wrong_words
from httpdyno.lab.observer import Progress as TrialProgress
from httpdyno.lab.observer import Silence
from httpdyno.model import (
    CEILING_TRIAL,
    Link,
    Outcome,
    Purpose,
    Subject,
    Trial,
    TrialPlan,
    counted,
    format_rate,
    format_span,
)
from httpdyno.report.cell import without_controls
from httpdyno.subjects.build import BuildOutcome, BuildState, log_tail
from httpdyno.subjects.provision import ProvisionState


def _link_line(trial: Trial) -> str | None:
    """Describe a trial's link as measured before the trial.

    None for a direct link, an unmeasured link, and a missed link, which the trial's reason describes.
    """
    found = trial.counters.link
    if found is None or found.rtt_p50_ns is None or trial.outcome is Outcome.REFUSED:
        return None
    link = Link.parse(trial.link)
    parts = [f"round trip {link.round_trip_ns / 1e6:.4g} ms, measured {found.rtt_p50_ns / 1e6:.4g} ms"]
    for way, path, measured in (("up", link.up, found.up), ("down", link.down, found.down)):
        expected, goodput = measured.goodput_expected_bits_per_s, measured.goodput_bits_per_s
        if path.rate_bits_per_s is not None and expected is not None and goodput is not None:
            rates = (round(float(f"{rate:.4g}")) for rate in (expected, goodput))
            due, got = (format_rate(rate) if rate else "nothing" for rate in rates)
            parts.append(f"{way} {due} for content, measured {got}")
    return f"link {trial.link}: {'; '.join(parts)}"


_COMMAS: Final = 4
_COLOURS: Final = {"2": "green", "3": "yellow", "4": "yellow"}


def line_colour(code: str) -> str:
    """Return the colour of a code: green 2xx, yellow 3xx and 4xx, red 5xx, errors and anything else."""
    status = len(code) == 3 and code.isascii() and code.isdigit()
    return _COLOURS.get(code[0], "red") if status else "red"


class ReadableLine(NamedTuple):
    """A client's line in readable form."""

    code: str
    url: str
    milliseconds: str
    length: int | None


def readable_line(line: str) -> ReadableLine | None:
    """Read a line of the client contract; None for any other line.

    The line is split at its last four commas, as a URL may contain commas.
    """
    fields = line.rsplit(",", _COMMAS)
    if len(fields) != _COMMAS + 1:
        return None
    url, code, _, duration, length = (field.strip() for field in fields)
    try:
        milliseconds = f"{float(duration):.0f}ms"
    except ValueError:
        return None
    return ReadableLine(code, url, milliseconds, int(length) if length.isascii() and length.isdigit() else None)


class ResultLines:
    """Printer of a client's lines, which may arrive in pieces."""

    def __init__(self, console: Console, *, raw: bool) -> None:
        """Print to the console; with ``raw`` the client's lines unchanged, for programs."""
        self._console = console
        self._raw = raw
        self._rest = b""
        self._expectations: Expectations | None = None

    def expect(self, expectations: Expectations) -> None:
        """Compare lines with the expected answers."""
        self._expectations = expectations

    def feed(self, piece: bytes) -> None:
        """Handle a piece of output and print the lines that it completes."""
        *ended, self._rest = (self._rest + piece).split(b"\n")
        lines = [line.decode("utf-8", errors="replace").rstrip("\r") for line in ended]
        if self._raw:
            for line in lines:
                self._print_raw(line)
            return
        read = list(map(readable_line, lines))
        urls = [parts.url if parts else "" for parts in read]
        served = self._expectations.served(urls) if self._expectations else [None] * len(urls)
        for line, parts, due in zip(lines, read, served, strict=True):
            self._print(line, parts, wrong_words(parts.code, parts.length, due) if parts and due else None)

    def finish(self) -> None:
        """Print the last line if it has no line end."""
        if self._rest:
            self.feed(b"\n")

    def _print_raw(self, line: str) -> None:
        try:
            self._console.file.write(f"{without_controls(line) if self._console.is_terminal else line}\n")
            self._console.file.flush()
        except BrokenPipeError:
            self._console.on_broken_pipe()

    def _print(self, line: str, parts: ReadableLine | None, wrong: str | None) -> None:
        if parts is None:
            if line.strip():
                red = "red" if self._console.is_terminal else None
                self._console.out(without_controls(line), style=red, highlight=False)
            return
        code = f"[{without_controls(wrong or parts.code)}]"
        rest = f" {without_controls(parts.url)} : {parts.milliseconds}"
        if wrong:
            self._console.out(code + rest, style="red", highlight=False)
        else:
            self._console.out(code, style=line_colour(parts.code), highlight=False, end="")
            self._console.out(rest, highlight=False)


_TRIAL: Final = ""
"""Name of the task of a trial; other tasks have the names of subjects."""
_BUILD_WORDS: Final = {
    BuildState.BUILDING: "building",
    BuildState.WAITING: "waiting for another run that builds it",
    BuildState.BUILT: "built",
}


class _Name(ProgressColumn):
    """Name of a task, cut to the terminal's width, so that a task is one line."""

    def render(self, task: Task) -> Text:
        return Text(task.description, overflow="ellipsis", no_wrap=True)


class _Figures(ProgressColumn):
    """Figures of a trial (requests done, requests a second, time left) or of the run (trials done, time left)."""

    def render(self, task: Task) -> Text:
        if "left_s" in task.fields:
            left = f", about {format_span(task.fields['left_s'])} left" if task.fields["left_s"] else ""
            return Text(f"{task.completed:.0f} of {task.total:.0f} trials{left}")
        news = task.fields.get("news")
        if not isinstance(news, TrialProgress):
            return Text("")
        if news.phase == "preparing":
            return Text("preparing the web", style="dim")
        expected = "" if news.requests_expected is None else f" of {news.requests_expected:,}"
        parts = [f"{news.requests:,}{expected} requests"]
        if news.requests_per_s is not None:
            parts.append(f"{news.requests_per_s:,.0f}/s")
        if news.left_s:
            parts.append(f"{news.left_s:.0f} s left")
        return Text(", ".join(parts))


class Display:
    """Display of a run: builds, the plan, the engine's progress, and the lines of a client."""

    def __init__(
        self, console: Console, *, quiet: bool = False, folded: bool = False, lines: ResultLines | None = None
    ) -> None:
        """Draw on the console; with ``quiet`` without bars, since other output goes to the same terminal.

        A console that is not a terminal gets a line for each block of several trials, or for each trial.
        ``folded``: one line for all builds and one for all tests of claims; else a line for each.
        ``lines`` prints the output of the subject.
        """
        self.wants_output = lines is not None
        self._lines = lines
        self._bars = console.is_terminal and not quiet
        self._folded = folded
        self._block: int | None = None
        self._blocks: int | None = None
        self._went_well: list[Trial] = []
        """Trials of the block that its line will summarise; failed trials have their own lines."""
        self._left_s: float | None = None
        self._quiet = quiet
        self._progress = Progress(
            SpinnerColumn(),
            _Name(),
            BarColumn(bar_width=30 if console.width >= 100 else 10, table_column=Column(no_wrap=True)),
            _Figures(table_column=Column(no_wrap=True)),
            console=console,
            transient=True,
            disable=not self._bars,
            # The bars share CPUs with the engine: they are drawn only when something changes.
            refresh_per_second=4,
        )
        self._tasks: dict[str, TaskID] = {}
        self._overall: TaskID | None = None
        self._planned, self._listed = "", 0
        self._once: set[str] = set()
        """Lines that were printed, and are printed only once."""
        self._why = self._where = self._title = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end_block()
        self._progress.stop()

    def build(self, subject: Subject, state: BuildState) -> None:
        """Show the progress of a build."""
        name, word = subject.id, _BUILD_WORDS.get(state)
        ended = state not in {BuildState.BUILDING, BuildState.WAITING}
        if self._bars and ended:
            self._end_task(name)
        elif self._bars:
            self._show_task(name, f"{name}: {word}")
        elif word and self._folded and state is not BuildState.WAITING:
            self._tell_once("building subjects that are not built yet, which may take minutes")
        elif word and not self._quiet:
            tell(f"{name}: {word}")

    def provision(self, name: str, state: ProvisionState, log: Path) -> None:
        """Show the progress of an installation."""
        line = f"{name}: {state}"
        if state is ProvisionState.INSTALLING and self._bars:
            self._show_task(name, line)
            return
        self._end_task(name)
        tell(line)
        if state is ProvisionState.FAILED:
            _tell_log(log)

    def built(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        """Print the subjects that could not be built, with the last lines of the logs of failed builds."""
        for outcome in outcomes.values():
            if outcome.error:
                tell(outcome.error.line)
                if outcome.log:
                    _tell_log(outcome.log)

    def probing(self, subject: Subject) -> None:
        """Print the subjects whose claims are probed."""
        if self._folded:
            self._tell_once("testing the claims of subjects, once for each build")
        elif not self._quiet:
            tell(f"{subject.id}: probing its claims, once for this build")

    def planned(
        self,
        trials: int,
        *,
        finished: int,
        left_s: float | None,
        at_most: bool = False,
        blocks: int | None = None,
    ) -> None:
        """Print the number of trials, how many are done, and the time left.

        ``blocks``: number of blocks of several trials. With it each block gets a line, without it each trial.
        """
        self._planned, self._listed = f"at most {trials}" if at_most else str(trials), trials
        self._blocks = blocks
        if self._quiet:
            return
        before = f", {finished} of them finished before" if finished else ""
        duration = "" if left_s is None else f": about {format_span(left_s)}"
        tell(f"{self._planned} trial{'' if trials == 1 else 's'}{before}{duration}")
        self._overall = self._progress.add_task("run", total=trials, completed=finished, left_s=left_s)

    def cooling_down(self, reason: str) -> None:
        """Show the reason for waiting between two trials."""
        self._show_task(_TRIAL, f"cooling down: {reason}")

    def trial_begins(self, plan: TrialPlan) -> None:
        """Show the trial that begins."""
        self._end_task(_TRIAL)
        if plan.block != self._block:
            self._end_block()
            self._block = plan.block
        if plan.added:
            self._listed += 1
            self._planned = str(self._listed)
            if self._overall is not None:
                self._progress.update(self._overall, total=self._listed)
        self._why, self._where = plan.why, _where(plan)
        self._title = f"{self._place(plan.number)} {plan.subject.id}{self._where}"
        self._show_task(_TRIAL, self._title)

    def expected(self, expectations: Expectations) -> None:
        """Compare the subject's lines with the expected answers."""
        if self._lines:
            self._lines.expect(expectations)

    def progress(self, progress: TrialProgress) -> None:
        """Show the progress of a trial."""
        if _TRIAL in self._tasks:
            self._progress.update(
                self._tasks[_TRIAL],
                total=progress.requests_expected,
                completed=min(progress.requests, progress.requests_expected or progress.requests),
                news=progress,
            )

    def output(self, piece: bytes) -> None:
        """Print the output of the subject."""
        if self._lines:
            self._lines.feed(piece)

    def silent(self, silence: Silence) -> None:
        """Print that a client is silent before its deadline passes."""
        lines = f"{silence.printed:,} of {silence.given:,}, deadline in {silence.left_s:.0f} s"
        tell(f"{self._title}: no line in {silence.silent_s:.0f} s: {lines}")

    def trial_ends(self, trial: Trial, *, left_s: float | None) -> None:
        """Show the result of a trial and the time left for the others."""
        self._end_task(_TRIAL)
        if self._overall is not None:
            of_run = int(trial.purpose is not Purpose.CEILING)
            self._progress.update(self._overall, advance=of_run, left_s=left_s)
        if link := _link_line(trial):
            self._tell_once(link, key=trial.link)
        # The reason for an unavailable subject was printed when its build failed.
        # A search prints each load that it tries, because the next trial depends on it.
        if trial.outcome is Outcome.UNAVAILABLE or (self._bars and trial.outcome is Outcome.OK and not self._why):
            return
        if self._blocks and trial.outcome is Outcome.OK and not self._quiet and trial.purpose is not Purpose.CEILING:
            self._went_well.append(trial)
            self._left_s = left_s
            return
        if not self._quiet or trial.outcome is not Outcome.OK:
            left = f"; about {format_span(left_s)} left" if left_s and not self._quiet else ""
            ending = _ending(trial, rate=bool(self._why))
            tell(f"{self._place(trial.trial)} {trial.subject}{self._where}: {ending}{left}")

    def _tell_once(self, line: str, *, key: str | None = None) -> None:
        if (key or line) not in self._once and not self._quiet:
            self._once.add(key or line)
            tell(line)

    def _show_task(self, name: str, description: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=None)
        self._progress.update(self._tasks[name], description=description)

    def _end_task(self, name: str) -> None:
        if name in self._tasks:
            self._progress.remove_task(self._tasks.pop(name))

    def _end_block(self) -> None:
        if self._block is None or not self._went_well:
            return
        left = f"; about {format_span(self._left_s)} left" if self._left_s else ""
        of = f" of {self._blocks}" if self._block < (self._blocks or 0) else ""
        time_s = sum(trial.counters.wall_ns or 0 for trial in self._went_well) / 1e9
        trials = counted(len(self._went_well), "trial")
        tell(f"block {self._block + 1}{of}: {trials} in {format_span(time_s)}{left}")
        self._went_well.clear()

    def _place(self, number: int) -> str:
        if number == CEILING_TRIAL:
            return "the web's ceiling:"
        of = f" of {self._planned}" if self._planned else ""
        return f"trial {number + 1}{of}:"


def _tell_log(log: Path) -> None:
    for line in log_tail(log):
        tell(f"  {line}")


def _where(plan: TrialPlan) -> str:
    """Describe the condition of a trial, and why it was chosen."""
    if plan.added:
        return f", {plan.why}"
    why = f" ({plan.why})" if plan.why else ""
    if plan.condition.name:
        return f", {plan.condition.name}{why}"
    return f", {plan.concurrency} in flight{why}" if why else ""


def _ending(trial: Trial, *, rate: bool) -> str:
    summary = definition_of(trial.experiment).presentation.trial_result if trial.outcome is Outcome.OK else None
    if summary is not None and (words := summary(trial)):
        return without_controls(words)
    if trial.outcome is Outcome.INTERRUPTED and trial.summary:
        return f"{trial.outcome}: {trial.summary.urls:,} of {trial.urls_given:,} URLs had ended"
    if trial.outcome is not Outcome.OK or trial.summary is None:
        return without_controls(f"{trial.outcome}: {trial.reason}" if trial.reason else str(trial.outcome))
    time_s = (trial.summary.time_ns or 0) / 1e9
    waited_s = (trial.cool_down_ns or 0) / 1e9
    cool_down = f", after a cool-down of {waited_s:.1f} s" if trial.cool_down_reason else ""
    per_s = f", {trial.summary.right_per_s:.1f} right a second" if rate and trial.summary.right_per_s else ""
    return f"{trial.summary.urls:,} URLs in {time_s:.1f} s{per_s}{cool_down}"
