"""Figures of a study: learning curves, stability of each configuration, and the influence of each family of changes."""
