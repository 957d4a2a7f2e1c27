"""A load by our own generator: what it measured of somebody's server."""
