"""Trained runs: a job trains a batch of seeds of one configuration and leaves a record of each in the ledger.

The ledger is no output of the job, since Snakemake deletes the outputs of one that fails: finished seeds stay, and a
job that runs again trains only what has no record. The marker says that every seed of the batch has one.
"""


rule train:
    input:
        data=ancient(DATA),
    output:
        touch("build/{run_digest}/{configuration}.{batch}.ok"),
    log:
        "logs/train/{run_digest}/{configuration}.{batch}.log",
    benchmark:
        "build/benchmarks/train/{run_digest}/{configuration}.{batch}.tsv"
    retries: ATTEMPTS - 1
    threads: ranks_by_threads
    resources:
        **of_cluster(lambda wildcards: len(BATCHES[wildcards.batch])),
        attempt=lambda wildcards, attempt: attempt,
    params:
        plan=PLAN.path,
        seeds=lambda wildcards: " ".join(f"--seed {seed}" for seed in BATCHES[wildcards.batch]),
        attempts=ATTEMPTS,
        retry="--retry-failed" if config.get("retry_failed") else "",
    shell:
        "seedstudy train --plan {params.plan:q} --configuration {wildcards.configuration:q} {params.seeds} "
        "--data {input.data:q} --ledger ledger --attempt {resources.attempt} --attempts {params.attempts} "
        "{params.retry} 2>&1 >/dev/null | tee {log:q} >&2"
