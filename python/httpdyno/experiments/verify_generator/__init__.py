"""Checks the figures of load generators against servers with known behaviour."""
