"""The latency question: what one call costs in a warm process, alone and with others."""
