"""Tables of the study, from the table of runs and what the plan declares of the analysis."""


rule compare:
    input:
        runs=RUNS,
        plan=PLAN.path,
        seeds=PLAN.seeds_path,
        code=sources("imports", "statistics", "tables"),
    output:
        TABLES,
    log:
        f"logs/compare/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/compare/{PLAN.name}.tsv"
    localrule: True
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "seedstudy tables --runs {input.runs:q} --plan {input.plan:q} --output {params.folder:q} 2>&1 | tee {log:q}"
