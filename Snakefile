"""The study as a graph: data -> training -> runs -> tables and figures.

snakemake --cores all                                       the default study
snakemake --cores all --configfile config/movielens.yaml    another plan
snakemake --cores all figures tables                        from the committed runs; never trains
snakemake --cores all benchmarks                            speed of the configurations, of a plan with `benchmark`
snakemake --cores all audit sources                         do runs repeat to the bit; which random stream makes them differ
"""

from snakemake.utils import min_version

min_version("9.27")


container: "docker://seedstudy:latest"


include: "workflow/rules/common.smk"
include: "workflow/rules/clock.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/plots.smk"
include: "workflow/rules/evidence.smk"


localrules:
    all,
    tables,
    figures,


rule all:
    default_target: True
    input:
        MARKERS,
        RUNS,
        TABLES,
        FIGURES,


rule tables:
    input:
        TABLES,


rule figures:
    input:
        FIGURES,


if PLAN.benchmark is not None:

    include: "workflow/rules/benchmark.smk"

    rule benchmarks:
        input:
            BENCHMARK_TABLES,
            BENCHMARK_FIGURES,
        localrule: True


# Snakemake itself would say only that no rule makes them; what was asked for stands nowhere else yet.
elif "benchmarks" in sys.argv:
    sys.exit(f"seedstudy: {PLAN.path}: benchmark: is missing; add it to time the plan's configurations")
