"""Figures of the study, from the table of runs and what the plan declares of the analysis."""


rule plots:
    input:
        runs=RUNS,
        plan=PLAN.path,
        seeds=PLAN.seeds_path,
        code=sources("imports", "statistics", "tables", "figures"),
    output:
        FIGURES,
    log:
        f"logs/plots/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/plots/{PLAN.name}.tsv"
    localrule: True
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "seedstudy figures --runs {input.runs:q} --plan {input.plan:q} --output {params.folder:q} 2>&1 | tee {log:q}"
