"""Conformance: whether subjects fulfil their contract and their claims."""
