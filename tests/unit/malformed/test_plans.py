"""Plans that are none: each is one line with file, key or line, and what to do; none starts anything."""

import pytest

from tests.unit.malformed.conftest import SMOKE, written

TITLE = "Smoke study on generated Outbrain data"
DATA = "source: outbrain-generated\n  displays: 1000\n  seed: 1\n"
SYNTHETIC = "source: synthetic\n  rows: 10\n  valid_rows: 5\n  numeric: 1\n  onehot: {shop: 4}\n"
PARTS = "precision: [fp32, amp]}, within: [workers, xla]"
FEWER, MORE = "greater than or equal to", "less than or equal to"
UNKNOWN = "unknown key; remove it or correct its spelling"
MISSING = "is missing; add it"
PLAIN = "is not read; write plain text, numbers, lists and mappings"
ALIASES = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))

# name of the case: content of the whole file, place after the file's name, remedy
FILES = {
    "empty": ("", ":", "holds nothing; a mapping of keys to values is needed"),
    "comment only": ("# later\n", ":", "holds nothing; a mapping"),
    "list at top": ("- name: smoke\n", ":", "holds a list; a mapping of keys to values is needed"),
    "text at top": ("smoke\n", ":", "holds text; a mapping of keys to values is needed"),
    "two documents": (f"{SMOKE}---\n{SMOKE}", ", line 48:", "correct the YAML"),
    "latin-1": ("title: Größe\n".encode("latin-1"), ":", "is not UTF-8 text (byte 9); save it as UTF-8"),
    "utf-16": (SMOKE.encode("utf-16"), ":", "is not UTF-8 text (byte 0); save it as UTF-8"),
    "cut off in a character": ("title: é".encode()[:-1], ":", "is not UTF-8 text (byte 7); save it as UTF-8"),
    "NUL": (f"{SMOKE}\0", ", line 48:", "holds the character U+0000, which YAML forbids; remove it"),
    "escape sequence": ("name: a\ntitle: \x1b[2J\n", ", line 2:", "U+001B, which YAML forbids; remove it"),
    "open bracket": ("name: [smoke\n", ", line 2:", "correct the YAML"),
    "open quote": ('title: "Smoke\n', ", line 2:", "correct the YAML"),
    "tab as indent": ("output:\n\tresults: a\n", ", line 2:", "cannot start any token; correct the YAML"),
    "unknown escape": (r'title: "\q"', ", line 1:", "unknown escape character 'q'; correct the YAML"),
    "lone surrogate": (r'title: "\ud800"', ", line 1:", r"'\ud800' is no str; correct the YAML"),
    "repeated key": (f"{SMOKE}alpha: 0.1\n", ", line 48:", "key 'alpha' is given twice; correct the YAML"),
    "key repeated as another type": ('true: 1\n"true": 2\n', ", line 2:", "key 'true' is given twice; correct"),
    "list as key": ("? [a]\n: b\n", ", line 1:", "a key is no plain text; correct the YAML"),
    "mapping as key": ("{{a: 1}: b}\n", ", line 1:", "a key is no plain text; correct the YAML"),
    "calls Python": ("name: !!python/object/apply:os.system [ls]\n", ", line 1:", f"os.system {PLAIN}"),
    "names Python": ("name: !!python/name:os.system\n", ", line 1:", f"os.system {PLAIN}"),
    "tag of its own": ("name: !plan smoke\n", ", line 1:", f"the tag !plan {PLAIN}"),
    "set": ("name: !!set {a}\n", ", line 1:", f"the tag !!set {PLAIN}"),
    "binary": ("name: !!binary aGk=\n", ", line 1:", f"the tag !!binary {PLAIN}"),
    "merged mappings": ("a: &a {b: 1}\nc: {<<: *a}\n", ", line 2:", f"the tag !!merge {PLAIN}"),
    "list called mapping": ("name: !!map [1]\n", ", line 1:", "expected a mapping node, but found sequence; correct"),
    "tagged as a number": ("name: !!int smoke\n", ", line 1:", "'smoke' is no int; correct the YAML"),
    "tagged as a truth": ("name: !!bool smoke\n", ", line 1:", "'smoke' is no bool; correct the YAML"),
    "number of 5,000 digits": (f"name: a\nalpha: 1{'0' * 5000}\n", ", line 2:", "is no int; correct the YAML"),
    "alias of nothing": ("name: *smoke\n", ", line 1:", "found undefined alias 'smoke'; correct the YAML"),
    "alias in itself": ("name: &a [*a]\n", ", line 1:", "an alias stands inside its own value; correct the YAML"),
    "aliases of aliases": (f"a0: &a0 [x]\n{ALIASES}", ", line 6:", "aliases make more than 100,000 values"),
    "250 lists deep": (f"{SMOKE}more: {'[' * 250}{']' * 250}\n", ": the document:", "is nested too deeply; write it"),
    "5,000 lists deep": (f"name: {'[' * 5000}", ":", "is nested too deeply; write it flatter"),
}

# name of the case: what is replaced in the smoke plan, by what; place after the file's name, remedy
EDITS = {
    "unknown key": ("alpha: 0.05", "alpha: 0.05\nbeta: 0.1", ": beta:", UNKNOWN),
    "unknown key of a block": ("value: 2e-2", "vlaue: 2e-2", ": margin.value:", f"{MISSING} (1 more)"),
    "unknown key of the model": (
        "dropout: 0.1",
        "dropout: 0.1\n  negatives: 4",
        ": model.wide_deep.negatives:",
        UNKNOWN,
    ),
    "key of another source": ("displays: 1000", "rows: 1000", ": data.outbrain-generated.rows:", UNKNOWN),
    "key that is a number": ("alpha: 0.05", "alpha: 0.05\n3: 4", ": 3:", UNKNOWN),
    "terminal escape as key": ("alpha: 0.05", 'alpha: 0.05\n"\\e[2J": 4', r": \x1b[2J:", UNKNOWN),
    "missing key": ("alpha: 0.05\n", "", ": alpha:", MISSING),
    "missing key of a block": ("epochs: 2\n  ", "", ": training.epochs:", MISSING),
    "no source": ("source: outbrain-generated\n  ", "", ": data.source:", MISSING),
    "no model": ("name: wide_deep\n  ", "", ": model.name:", MISSING),
    "nothing as block": (f"data:\n  {DATA}", "data:\n", ": data:", "should be an object"),
    "list as block": (f"data:\n  {DATA}", "data: [a]\n", ": data:", "should be an object"),
    "number as name": ("name: smoke", "name: 3", ": name:", "should be a valid string"),
    "path as name": ("name: smoke", "name: ../smoke", ": name:", "should match pattern"),
    "line break in a name": ("name: smoke", 'name: "smoke\\n"', ": name:", "should match pattern"),
    "empty title": (TITLE, '""', ": title:", "is empty; write a name"),
    "control character in the title": (TITLE, r'"a\x01"', ": title:", "write a name without"),
    "text as number": ("alpha: 0.05", "alpha: '0.05'", ": alpha:", "should be a valid number"),
    "truth as number": ("epochs: 2", "epochs: true", ": training.epochs:", "should be a valid integer"),
    "number as truth": ("xla: [true, false]", "xla: [1, 0]", ": axes.xla.0:", "should be a valid boolean"),
    "number as list": ("hidden: [32, 32]", "hidden: 32", ": model.wide_deep.hidden:", "should be a valid array"),
    "broken number as whole": ("epochs: 2", "epochs: 2.5", ": training.epochs:", "should be a valid integer"),
    "margin 0": ("value: 2e-2", "value: 0", ": margin.value:", "should be greater than 0"),
    "negative margin": ("value: 2e-2", "value: -1", ": margin.value:", "should be greater than 0"),
    "margin NaN": ("value: 2e-2", "value: .nan", ": margin.value:", "should be"),
    "infinite margin": ("value: 2e-2", "value: .inf", ": margin.value:", "should be a finite number"),
    "infinite target": ("alpha: 0.05", "alpha: 0.05\ntarget: .inf", ": target:", "should be a finite number"),
    "floor NaN": ("alpha: 0.05", "alpha: 0.05\nfloor: .nan", ": floor:", "should be a finite number"),
    "alpha 0.5": ("alpha: 0.05", "alpha: 0.5", ": alpha:", "should be less than 0.5"),
    "alpha NaN": ("alpha: 0.05", "alpha: .nan", ": alpha:", "should be less than 0.5"),
    "dropout NaN": ("dropout: 0.1", "dropout: .nan", ": model.wide_deep.dropout:", "should be less than 1"),
    "infinite warm-up": ("epochs: 1}", "epochs: .inf}", ": model.wide_deep.deep.warmup_epochs:", "a finite number"),
    "infinite rate": (
        "learning_rate: 0.02",
        "learning_rate: .inf",
        ": model.wide_deep.wide.learning_rate:",
        "a finite number",
    ),
    "width 100": ("[32, 32]", "[100]", ": model.wide_deep:", "100 is not a multiple of 8, which dropout"),
    "no workers": ("workers: [1, 2]", "workers: []", ": axes.workers:", "at least 1 item"),
    "0 workers": ("workers: [1, 2]", "workers: [0]", ": axes.workers.0:", f"{FEWER} 1"),
    "workers twice": ("workers: [1, 2]", "workers: [2, 2]", ": axes.workers:", "holds a value twice; keep one"),
    "batch beyond int32": ("_batch: 256", "_batch: 4294967296", ": training.global_batch:", f"{MORE} 2147483647"),
    "batch that does not divide": ("_batch: 256", "_batch: 255", ": training.global_batch:", "not a multiple of 2"),
    "negative seed of the data": ("seed: 1\n", "seed: -1\n", ": data.outbrain-generated.seed:", f"{FEWER} 0"),
    "too many displays": ("displays: 1000", "displays: 99999999", ": data.outbrain-generated.displays:", MORE),
    "no repeats": ("repeats: 3", "repeats: 0", ": benchmark.repeats:", f"{FEWER} 1"),
    "inference batch": ("[64, 256]", "[65]", ": benchmark.inference_batches:", "65 is not a multiple of 2 workers"),
    "another model's metric": ("metric: map12", "metric: hr10", ": metric:", "hr10 is none of wide_deep; it has map12"),
    "unknown model": ("name: wide_deep", "name: dlrm", ": model.name:", "unknown; known are 'neumf', 'wide_deep'"),
    "list as model": ("name: wide_deep", "name: [a]", ": model.name:", "unknown; known are"),
    "unknown source": ("source: outbrain-generated", "source: criteo", ": data.source:", "unknown; known are"),
    "unknown axis": (PARTS, "speed: ['1', '2']}, within: []", ": families.0:", "no axis; the axes are architecture"),
    "unknown axis of cells": ("[workers, xla]", "[speed]", ": families.0:", "no axis; the axes are architecture"),
    "axis of cells twice": ("[workers, xla]", "[xla, xla]", ": families.0.within:", "names an axis twice; keep one"),
    "arms' axis as cell": (
        "[workers, xla]",
        "[precision]",
        ": families.0.within:",
        "what the arms differ in; remove it",
    ),
    "unknown arm": ("[fp32, amp]", "[fp8, amp]", ": families.0.between.precision:", "has no 'fp8'; it has amp, fp32"),
    "empty arm": ("[fp32, amp]", "['', amp]", ": families.0.between.precision:", "has no ''; it has amp, fp32"),
    "one arm twice": ("[fp32, amp]", "[amp, amp]", ": families.0.between.precision:", "share runs; part them"),
    "arms overlap": ("[fp32, amp]", "[fp32|amp, amp]", ": families.0.between.precision:", "share runs; part them"),
    "three arms": ("[fp32, amp]", "[fp32, amp, tf32]", ": families.0.between.precision:", "at most 2 items"),
    "truths as arms": (PARTS, "xla: [false, true]}, within: []", ": families.0.between.xla.0:", "a valid string"),
    "family twice": (
        "families:\n",
        "families:\n  - {name: amp, between: {xla: ['true', 'false']}, within: []}\n",
        ": families.0.name:",
        "amp is given twice; names of families differ",
    ),
    "CPU without level": (
        "instruction_set: avx2, ",
        "",
        ": architectures.x86_64_v3.instruction_set:",
        "a CPU needs one",
    ),
    "CPU with a GPU's name": (
        "bfloat16",
        "bfloat16, gpu_name: A100",
        ": architectures.x86_64_v3.gpu_name:",
        "belongs to a GPU; remove it",
    ),
    "TF32 on a CPU": (
        "full_precision: fp32",
        "full_precision: tf32",
        ": architectures.x86_64_v3.full_precision:",
        "needs a GPU; write fp32",
    ),
    "architecture with a dash": ("x86_64_v3: {", "x86-64: {", ": architectures.x86-64.[key]:", "should match pattern"),
    "memory of 1 MB": ("bfloat16", "bfloat16, cluster: {memory_mb: 1}", "cluster.memory_mb:", f"{FEWER} 600"),
    "sexagesimal time": (
        "bfloat16",
        "bfloat16, cluster: {runtime_minutes: 1:30:00.5}",
        "cluster.runtime_minutes:",
        "should be a valid integer",
    ),
    "no seeds file": ("smoke-seeds.txt", "none.txt", "none.txt:", "cannot be read: No such file or directory"),
    "folder as seeds file": ("smoke-seeds.txt", "..", "..:", "cannot be read: Is a directory"),
    "empty seeds file name": ("smoke-seeds.txt", '""', ": seeds_file:", "is empty; write a name"),
    "NUL in the seeds file name": ("smoke-seeds.txt", r'"a\0b"', ": seeds_file:", "write a name without"),
    "no specification": (DATA, "source: parquet\n  spec: no.yaml\n", "no.yaml:", "cannot be read: No such file"),
    "specification at nobody's": (
        DATA,
        "source: parquet\n  spec: ~nobody.such/s.yaml\n",
        ": data.parquet.spec:",
        "is nobody's home here; write the path out",
    ),
    "NUL in a data path": (DATA, 'source: outbrain\n  raw: "a\\0"\n', ": data.outbrain.raw:", "write a name without"),
    "number as path": (DATA, "source: outbrain\n  raw: 3\n", ": data.outbrain.raw:", "should be"),
    "one column for two": (DATA, "source: interactions\n  user: time\n", ": data.interactions:", "name three"),
    "random column 'slate'": (DATA, SYNTHETIC.replace("shop", "slate"), ": data.synthetic:", "named twice; rename one"),
    "random column 'number_0'": (DATA, SYNTHETIC.replace("shop", "number_0"), ": data.synthetic:", "rename one"),
    "random id of one value": (DATA, SYNTHETIC.replace("4}", "1}"), ": data.synthetic.onehot.shop:", f"{FEWER} 2"),
    "random rows beyond int32": (DATA, SYNTHETIC.replace("10", "9999999999"), ": data.synthetic.rows:", MORE),
    "no random column": (
        DATA,
        SYNTHETIC.replace("1\n  onehot: {shop: 4}", "0\n  onehot: {}"),
        ": data.synthetic:",
        "no feature: name at least one column",
    ),
}

# What Snakemake, a shell or sbatch would take for something else.
UNSAFE = {
    "empty folder": ("results: build/smoke/results", 'results: ""', ": output.results:", "is empty; write a name"),
    "folder of blanks": ("results: build/smoke/results", 'results: " "', ": output.results:", "is empty; write a name"),
    "wildcard as folder": (
        "results: build/smoke/results",
        "results: '{x}'",
        ": output.results:",
        "a wildcard; write a name without",
    ),
    "option as folder": (
        "figures: build/smoke/figures",
        "figures: --forceall",
        ": output.figures:",
        "starts with a dash",
    ),
    "line break in a folder": ("figures: build/smoke/figures", r'figures: "a\nb"', ": output.figures:", "line break"),
    "wildcard as seeds file": ("smoke-seeds.txt", "'{n}.txt'", ": seeds_file:", "a wildcard; write a name without"),
    "command as partition": (
        "bfloat16",
        "bfloat16, cluster: {partition: a;reboot}",
        "cluster.partition:",
        "should match pattern",
    ),
    "option as partition": (
        "bfloat16",
        "bfloat16, cluster: {partition: --wait}",
        "cluster.partition:",
        "should match pattern",
    ),
    "command as constraint": (
        "bfloat16",
        "bfloat16, cluster: {constraint: $(id)}",
        "cluster.constraint:",
        "should match pattern",
    ),
    "quote in a constraint": (
        "bfloat16",
        "bfloat16, cluster: {constraint: 'a\"b'}",
        "cluster.constraint:",
        "should match pattern",
    ),
    "blank in a constraint": (
        "bfloat16",
        "bfloat16, cluster: {constraint: a b}",
        "cluster.constraint:",
        "should match pattern",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_plan_is_one_line(collect, plan, case):
    content, place, remedy = FILES[case]
    written(plan, content)
    collect().refused(f"seedstudy: {plan}{place} ", remedy)


@pytest.mark.parametrize("case", EDITS | UNSAFE)
def test_a_mistake_in_a_plan_is_one_line(collect, plan, case):
    old, new, place, remedy = (EDITS | UNSAFE)[case]
    assert old in SMOKE
    plan.write_text(SMOKE.replace(old, new, 1))
    done = collect()
    done.refused(f"{place} ", remedy)
    assert done.err.startswith(f"seedstudy: {plan}" if place.startswith(":") else f"seedstudy: {plan.parent}")


@pytest.mark.parametrize("name", ["none.yaml", "folder.yaml", f"{'a' * 300}.yaml", "plan.yaml/plan.yaml"])
def test_what_is_no_file_is_one_line(seedstudy, plan, name):
    (plan.parent / "folder.yaml").mkdir()
    path = plan.parent / name
    done = seedstudy("collect", "--plan", path, "--ledger", plan.parent, "--output", plan.parent / "o")
    done.refused(f"seedstudy: {path}: cannot be read: ")


@pytest.mark.parametrize("constraint", ["haswell", "[rack1*2&rack2*4]", "(a|b)&c", "gpu:a100"])
def test_slurms_own_constraints_are_accepted(plan, constraint):
    from seedstudy.study import load_plan

    plan.write_text(SMOKE.replace("amp: bfloat16", f"amp: bfloat16, cluster: {{constraint: '{constraint}'}}"))
    assert load_plan(plan).architectures["x86_64_v3"].cluster.constraint == constraint


@pytest.mark.parametrize("folder", ["../beside", "/tmp/elsewhere", 'it\'s \\"mine\\" $(id)', "~/results", "Größe"])
def test_folders_that_rules_quote_are_accepted(plan, folder):
    from seedstudy.study import load_plan

    plan.write_text(SMOKE.replace("results: build/smoke/results", f'results: "{folder}"'))
    assert load_plan(plan).output.results == folder.replace("\\", "")


def test_aliases_and_dates_are_plain_values(plan):
    from seedstudy.study import load_plan

    text = SMOKE.replace(TITLE, "2026-12-01").replace("seeds_per_job: 2", "seeds_per_job: &two 2")
    plan.write_text(text.replace("repeats: 3", "repeats: *two"))
    found = load_plan(plan)
    assert (found.title, found.benchmark.repeats, found.seeds_per_job) == ("2026-12-01", 2, 2)
