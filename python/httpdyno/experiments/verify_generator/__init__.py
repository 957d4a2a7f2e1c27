"""Whether load generators tell the truth: each is run against servers with known behaviour, and held to it."""
