"""The capacity experiment (`capacity`): under which conditions a subject holds a rate."""
