"""Charts drawn with Altair; nothing of it is imported before a chart is asked for, for Altair takes a second."""
