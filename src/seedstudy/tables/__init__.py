"""Tables of a study: stability of each configuration, and the impact of each family of changes."""
