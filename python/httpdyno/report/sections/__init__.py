"""Sections of a report that several experiments share."""
