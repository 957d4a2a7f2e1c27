"""Trials on this machine: rooms, processes, files, and the CPUs between them."""
