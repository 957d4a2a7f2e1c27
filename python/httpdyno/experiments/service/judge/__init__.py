"""Judges trials of servers: what became of one, and how far it was from ideal in the steady stretch."""
