"""The table of runs, from the ledgers of all configurations.

Markers are ancient, so that a table which is there, as in a fresh clone, is good enough for tables and figures: only
`all`, which asks for the markers themselves, trains.
"""


rule collect:
    input:
        ancient(MARKERS),
    output:
        RUNS,
    log:
        f"logs/collect/{PLAN.name}.log",
    benchmark:
        f"build/benchmarks/collect/{PLAN.name}.tsv"
    localrule: True
    params:
        plan=PLAN.path,
    shell:
        "seedstudy collect --plan {params.plan:q} --ledger ledger --output {output:q} 2>&1 | tee {log:q}"
