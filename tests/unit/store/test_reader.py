"""The figures of trials survive a round trip through their rows."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from doubles.trials import trial
from httpdyno.store.reader import record_frames, with_figures

NAMES = st.sampled_from(["held", "per_s", "urls", "why_not", "series"])
VALUES = {
    "held": st.booleans(),
    "per_s": st.one_of(st.floats(-1e12, 1e12), st.integers(-(2**52), 2**52)),
    "urls": st.integers(-(2**62), 2**62),
    "why_not": st.text(),
    "series": st.lists(st.fixed_dictionaries({"at_s": st.integers(0, 9), "name": st.text()}), max_size=3),
}
FIGURES = st.sets(NAMES).flatmap(lambda names: st.fixed_dictionaries({name: VALUES[name] for name in names}))


@given(st.lists(FIGURES, max_size=4))
def test_figures_come_back_from_their_rows(figures: list[dict[str, object]]) -> None:
    trials = [replace(trial("a", 0), trial=number, figures=each) for number, each in enumerate(figures)]
    rows, of_figures = record_frames(trials)  # type: ignore[arg-type]
    wide = with_figures(rows.select("trial"), of_figures)
    assert wide.height == len(figures)
    for number, each in enumerate(figures):
        found = {name: value for name, value in wide.row(number, named=True).items() if value is not None}
        assert found == {"trial": number, **each}
