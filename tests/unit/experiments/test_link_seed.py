"""The seed of a link: all conditions of an experiment have it, and a resumed run keeps it."""

import pytest

from httpdyno.experiments.capacity.axes import Axes as CapacityAxes
from httpdyno.experiments.capacity.plan import Capacity
from httpdyno.experiments.cost.plan import Cost
from httpdyno.experiments.latency.plan import Latency
from httpdyno.experiments.registry import restore_experiment
from httpdyno.experiments.service.plan import Service

EXPERIMENTS = [
    Capacity(axes=CapacityAxes(sizes_bytes=(0, 1024), loss=0.01), link_seed=5),
    Cost(keepalive="both", link="loss=1%", link_seed=5),
    Latency(points="plain:1,json:20", link="loss=1%", link_seed=5),
    Service(connections="20,100", link="loss=1%", link_seed=5),
]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_every_condition_has_the_seed_and_so_has_a_run_that_goes_on(
    experiment: Capacity | Cost | Latency | Service,
) -> None:
    conditions = experiment.conditions()
    assert len(conditions) > 1
    assert {condition.link_seed for condition in conditions} == {5}
    settings, webs = experiment.settings(), experiment.webs()
    assert restore_experiment(experiment.name, settings, webs, None) == experiment
