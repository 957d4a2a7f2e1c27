"""Runs: made trial after trial, resumed, compared with others, and shown."""
