"""Holds a client to its contract (``subjects/CONTRACT.md``): a few crawls in rooms, and what each of them shows."""
