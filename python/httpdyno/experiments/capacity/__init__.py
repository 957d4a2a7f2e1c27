"""The capacity question (`capacity`): under which conditions a subject holds a rate."""
