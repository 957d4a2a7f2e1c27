"""Scripted cases: a file for each, compiled to a script of the engine and judged by its transcript."""
