"""Experiments: what is asked of subjects, in which conditions, and the table that answers it."""
