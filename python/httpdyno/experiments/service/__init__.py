"""The service experiment: the load at which a server whose requests wait for parallel work keeps its times."""
