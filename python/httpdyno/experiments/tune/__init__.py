"""The search for the concurrency at which a client gets most URLs right a second."""
