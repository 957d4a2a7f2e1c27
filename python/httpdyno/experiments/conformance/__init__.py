"""Conformance: whether subjects keep their contract, and do what they claim."""
