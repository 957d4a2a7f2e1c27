"""What one call costs in a warm process: judged from a client's lines, or from what it timed itself."""
