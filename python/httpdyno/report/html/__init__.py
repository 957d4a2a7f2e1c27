"""A whole report as one HTML file that needs nothing but itself; nothing heavy is imported before one is made."""
