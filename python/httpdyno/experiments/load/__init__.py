"""Load of the engine's generator on any server."""
