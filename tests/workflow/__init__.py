"""Tests that start Snakemake, trainings and Horovod ranks."""
