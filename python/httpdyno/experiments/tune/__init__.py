"""The search for the concurrency at which a client gets the most right answers a second."""
