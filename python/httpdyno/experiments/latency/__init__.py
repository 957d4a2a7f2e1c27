"""The latency experiment: the time of one call in a warm process, alone and with concurrent calls."""
