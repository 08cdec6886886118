"""Statistics of runs: pure functions on arrays and tables, result objects, and no TensorFlow.

`seedstudy.statistics.comparison.compare_family` is the engine behind every table, figure and verdict.
"""
