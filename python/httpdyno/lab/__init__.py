"""Runs one trial: the engine's process, its files, its end and its clean-up."""
