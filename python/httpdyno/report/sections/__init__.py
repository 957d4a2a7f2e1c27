"""Sections of a report that several experiments have: tables and charts from trials, whatever was asked."""
