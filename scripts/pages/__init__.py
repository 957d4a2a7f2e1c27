"""Pages of docs that are generated from code."""
