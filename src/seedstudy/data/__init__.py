"""Data sets: sources, preparation, feature specifications, loading."""
