"""What verified documents cost: CPU time, start-up apart from steady state."""
