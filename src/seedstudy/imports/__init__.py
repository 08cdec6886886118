"""Runs from elsewhere: tidy tables, training logs, folders of runs. All end in one validated table of runs."""
