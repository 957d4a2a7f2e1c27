"""Runs: make, resume, compare and print them."""
