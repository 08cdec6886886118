"""Prepared data: two Parquet files with their feature specification, from the source that the plan names."""


rule data:
    output:
        directory(DATA),
    log:
        f"logs/data/{PLAN.data_digest}.log",
    benchmark:
        f"build/benchmarks/data/{PLAN.data_digest}.tsv"
    params:
        plan=PLAN.path,
    shell:
        "seedstudy data prepare --plan {params.plan:q} --output {output:q} 2>&1 | tee {log:q}"
