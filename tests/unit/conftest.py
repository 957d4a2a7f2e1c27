"""Settings of the unit tests: how fast a machine is says nothing about whether a property holds."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
