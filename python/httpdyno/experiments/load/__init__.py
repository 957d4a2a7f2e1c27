"""Load by the engine's generator on any server."""
