"""Tables, charts and pages of a run, from data to text; each format of a table is a module of ``formats``."""
