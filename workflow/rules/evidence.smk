"""Evidence beside the study: runs trained again (`audit`), and the variance between seeds by random stream (`sources`)."""

AUDITED = [f"build/audit/{c.run_digest}/{c.id}.csv" for c in PLAN.configurations]
AUDITED_SEEDS = min(3, len(PLAN.seeds))
VARIED = [f"build/sources/{c.run_digest}/{c.id}.csv" for c in PLAN.configurations]


rule audit_configuration:
    input:
        data=ancient(DATA),
        runs=ancient(STUDIED),
    output:
        "build/audit/{run_digest}/{configuration}.csv",
    log:
        "logs/audit_configuration/{run_digest}/{configuration}.log",
    benchmark:
        "build/benchmarks/audit_configuration/{run_digest}/{configuration}.tsv"
    threads: all_cores
    resources:
        **of_cluster(2 * AUDITED_SEEDS),
    params:
        plan=PLAN.path,
        seeds=AUDITED_SEEDS,
        threads=lambda wildcards: (
            f"--threads {2 * PLAN.threads_per_worker}"
            if 2 * ranks_by_threads(wildcards) <= study.usable_cores()
            else ""
        ),
    shell:
        "seedstudy audit --plan {params.plan:q} --configuration {wildcards.configuration:q} --data {input.data:q} "
        "--runs {input.runs:q} --seeds {params.seeds} {params.threads} --output {output:q} 2>&1 | tee {log:q}"


rule audit:
    input:
        repeats=AUDITED,
        runs=STUDIED,
    output:
        f"{PLAN.output.results}/audit.csv",
        f"{PLAN.output.results}/audit.md",
    log:
        f"logs/audit/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/audit/{PLAN.name}.tsv"
    localrule: True
    params:
        plan=PLAN.path,
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "seedstudy audit-table {input.repeats:q} --plan {params.plan:q} --runs {input.runs:q} "
        "--output {params.folder:q} 2>&1 | tee {log:q}"


rule source_runs:
    input:
        data=ancient(DATA),
    output:
        "build/sources/{run_digest}/{configuration}.csv",
    log:
        "logs/source_runs/{run_digest}/{configuration}.log",
    benchmark:
        "build/benchmarks/source_runs/{run_digest}/{configuration}.tsv"
    threads: ranks_by_threads
    resources:
        **of_cluster(5 * len(PLAN.seeds)),
    params:
        plan=PLAN.path,
    shell:
        "seedstudy sources --plan {params.plan:q} --configuration {wildcards.configuration:q} --data {input.data:q} "
        "--output {output:q} 2>&1 | tee {log:q}"


rule sources:
    input:
        VARIED,
    output:
        f"{PLAN.output.results}/sources.csv",
        f"{PLAN.output.results}/sources.md",
    log:
        f"logs/sources/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/sources/{PLAN.name}.tsv"
    localrule: True
    params:
        plan=PLAN.path,
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "seedstudy sources-table {input:q} --plan {params.plan:q} --output {params.folder:q} 2>&1 | tee {log:q}"
