"""What is tried for long or with malice: kills, hostile servers, hours of load. `scripts/endure` runs it."""
