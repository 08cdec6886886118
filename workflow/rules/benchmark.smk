"""Speed of the configurations: measured one at a time, merged into one table, then tables and figures of it.

Measured files are ancient, as markers are for `collect`: a table that is there, as in a fresh clone, is good enough.
Measure again with `snakemake --cores all benchmarks --forcerun benchmark_configuration benchmark_collect`.
"""


rule benchmark_configuration:
    input:
        data=ancient(DATA),
    output:
        "build/benchmark/{run_digest}/{configuration}.json",
    log:
        "logs/benchmark_configuration/{run_digest}/{configuration}.log",
    benchmark:
        "build/benchmarks/benchmark_configuration/{run_digest}/{configuration}.tsv"
    threads: all_cores
    resources:
        **of_cluster(1, "--exclusive"),
    params:
        plan=PLAN.path,
    shell:
        "seedstudy benchmark --plan {params.plan:q} --configuration {wildcards.configuration:q} "
        "--data {input.data:q} --output {output:q} 2>&1 | tee {log:q}"


rule benchmark_collect:
    input:
        ancient(MEASURED),
    output:
        BENCHMARKS,
    log:
        f"logs/benchmark_collect/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/benchmark_collect/{PLAN.name}.tsv"
    localrule: True
    shell:
        "seedstudy benchmark-collect {input:q} --output {output:q} 2>&1 | tee {log:q}"


rule benchmark_tables:
    input:
        benchmarks=BENCHMARKS,
        runs=STUDIED,
        plan=PLAN.path,
        seeds=PLAN.seeds_path,
        code=sources("imports", "tables"),
    output:
        BENCHMARK_TABLES,
    log:
        f"logs/benchmark_tables/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/benchmark_tables/{PLAN.name}.tsv"
    localrule: True
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "seedstudy benchmark-tables --benchmarks {input.benchmarks:q} --runs {input.runs:q} --plan {input.plan:q} "
        "--output {params.folder:q} 2>&1 | tee {log:q}"


rule benchmark_figures:
    input:
        benchmarks=BENCHMARKS,
        plan=PLAN.path,
        seeds=PLAN.seeds_path,
        code=sources("imports", "tables", "figures"),
    output:
        BENCHMARK_FIGURES,
    log:
        f"logs/benchmark_figures/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/benchmark_figures/{PLAN.name}.tsv"
    localrule: True
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "seedstudy benchmark-figures --benchmarks {input.benchmarks:q} --plan {input.plan:q} "
        "--output {params.folder:q} 2>&1 | tee {log:q}"
