"""Long and hostile tests: kills, hostile servers, hours of load. `scripts/endure` runs it."""
