"""Experiments: the questions, the conditions of their trials, and the tables of their results."""
