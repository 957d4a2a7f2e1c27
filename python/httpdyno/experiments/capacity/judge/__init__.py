"""The figures of a trial of the capacity question, and whether it held what was asked: pure."""
