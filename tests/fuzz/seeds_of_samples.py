"""Seeds that name one of the project's samples (tests/fuzz/recipe_sample.c) and what the target does with it."""

import copy
import gzip
import pathlib
import pickle
import re

import peak_twins  # tests/ is on the path of make_seeds.py

FUZZ = pathlib.Path(__file__).resolve().parent
SAMPLES = re.findall(r'"([\w.]+\.(?:pickle|gz|log))"', (FUZZ / "recipe_sample.c").read_text())


def recipe(name, left=0, changes=b""):
    """`left`: how many 256ths of the sample are kept, 0: all."""
    which = next(i for i, sample in enumerate(SAMPLES) if sample.split(".", 1)[0] == name or sample == name)
    return bytes((255, which, left)) + changes


def recipes(*names):
    return {name.split(".json")[0].replace(".", "_"): recipe(name) for name in names}


# ---- targets that take a recording and some choices ----

EVERY_FINDING = ("leak_graph", "leak_two_per_layer", "leak_zero_grad", "held_over", "kept_per_layer", "leak_forward_only", "oom",
                 "private_pools", "expandable", "streams", "user_metadata_annotate")


def reports():
    for i, name in enumerate((*EVERY_FINDING, "overflow", "two_devices", "cpu_train.raw.json.gz")):
        yield name.split(".")[0], bytes((i * 37 & 255,)) + recipe(name)
    yield "cut", b"\x01" + recipe("train", left=130)


def exports():
    for i, name in enumerate(("train", "oom", "two_devices", "streams", "cpu_train.raw.json.gz", "user_metadata_annotate")):
        yield name.split(".")[0], bytes((i, 31 * i & 255, 200, 7 * i)) + recipe(name)


def pictures():
    for i, name in enumerate(("train", "oom", "two_devices", "private_pools", "leak_graph")):
        yield name, bytes((31 * i & 255, 255, 150, i, 80, 30, 9, i)) + recipe(name)
    yield "dots", bytes((0, 40, 40, 6, 0, 0, 0, 0)) + recipe("streams")


def pages():
    yield "train", b"\x00\x00" + recipe("train")
    yield "merged", b"\x03\x60" + recipe("leak_two_per_layer")


def snapshots():
    for name in ("expandable", "overflow", "private_pools"):
        yield name, recipe(name)
    for left in (20, 130, 250):
        yield f"cut{left}", recipe("train", left=left)


def differences():
    for i, (name, how) in enumerate((("train", 0x00), ("leak_graph", 0x09), ("oom", 0x52), ("two_devices", 0x24),
                                     ("streams", 0x36), ("kept_per_layer", 0x80))):
        for more in (i, i | 1 << 3):  # the second writes a page
            yield f"{name}_{more}", bytes((how, more, 0, 0)) + recipe(name)


def plan(name, how=4, more=0, mib=0, other=0):
    """The bits of target_plan.c: 1 JSON, 2 Markdown, 4 a budget, 8 together with, 64 page, 128 another sample."""
    return bytes((how, more, mib >> 8, mib & 255, other)) + recipe(name)


# For the first sample the budgets cover every kind of answer: settings, findings, checkpointing, the optimizer, all at
# once, nothing.
PLANNED = (("train", 7000, 7600, 8500, 3000), ("oom", 0, 6000, 7000, 9000), ("leak_zero_grad", 1700, 1850), ("streams", 3400, 4000, 4600),
           ("kept_per_layer", 3300, 3700, 4000), ("leak_forward_only", 300, 410), ("held_over", 2020, 2300), ("expandable", 4000, 4300, 4500),
           ("private_pools", 1100, 1200), ("two_devices", 2200, 2700), ("leak_two_per_layer", 4400, 5000), ("leak_graph", 13680, 9000),
           ("leak_zero_grad_healthy", 1500), ("overflow", 9000))


def plans():
    for i, (name, *budgets) in enumerate(PLANNED):
        yield f"{name}_recorded", plan(name, i & 3)
        for k, mib in enumerate(budgets):
            yield f"{name}_{mib}", plan(name, 4 | (i + k) & 3, (i + k << 2 | k) & 255, mib)
    for name, mib in (("train", 7600), ("oom", 0), ("two_devices", 2700)):
        yield f"{name}_page", plan(name, 64 | 4, 0, mib)
    train = SAMPLES.index("train.pickle")
    for mib in (5000, 9000):
        yield f"together_{mib}", plan("oom", 128 | 8 | 4 | mib >> 12 & 1, 0, mib, train)


# ---- the command line ----

CONFIG = b"""{"rules": ["peak < 75GiB", "oom = none", "trust = complete", "gradients at forward = 0", "site:attention.py* < 1MiB",
"category.activation at end < 1MiB", "reserved <= baseline + 2%", "finding.leak = none", "ranks.spread < 5%", "gap < 10%",
"growth = 0 per step", "category.gradient at 12345 < 1GiB", "gradients at oom = 0"], "files": {"in*": ["peak <= baseline"]}, "baseline": "base", "skip_steps": 1}"""


WRONG_RULES = ("site: < 9", "category.x < 9", "budget.x < 9", "finding.x = none", "peek < 9", "peak at noon < 9", "peak <= baseline + 1% + 2%",
               "peak <= baseline + 1MiB + 2MiB", "peak <= baseline + x", "peak < 900", "oom = complete", "peak = none", "gap < 9", "reserved at end < 9",
               "growth < 9 per", "peak < 9GiB per step", "finding.leak <= baseline", "category.activation at oom <= baseline")


def program(words, files, text=b""):
    return words.replace(" ", "\n").replace("~", " ").encode() + b"%%\n" + text + b"%%\n" + b"%%\n".join(
        b"\x01" + recipe(file) if isinstance(file, str) else file for file in files)


def command_lines():
    """Command lines as words; `~` is a blank within a word."""
    server = (FUZZ.parent.parent / "samples" / "log_server_vllm.log").read_bytes()
    yield "map", program("png in --map --at=oom -o a.png && png in --map --at=9 --theme=dark -o b.png && png in --map -o c.png", ["oom"])
    yield "map_pools", program("png in --map --width=900 --scale=2 --color-by=pool", ["private_pools"])
    yield "colors", program("png in --color-by=age -o a && png in --color-by=stream -o b && png in --color-by=allocation -o c "
                            "&& png in --color-by=size --axis=time --from=0.001s --to=peak+5 -o d", ["streams"])
    yield "filters", program("report in --filter=forward~size:>1KiB && report in --filter=|atten[a-z]+\\d?|c~phase:backward "
                             "&& png in --filter=step:1..2~alive:peak && html in -f --filter=pool:private", ["leak_graph"])
    yield "owners", program("report in --own=model --own=*.py --library=*serve* --hide-internal && html in -f --own=*_model_*", ["train"])
    yield "redact", program("html in --redact=all && report in --redact --json && report in.html --json -f", ["hostile_names"])
    yield "merged", program("html in -f --max-html-size=300KB --title=x --capacity=80GB --at=peak --from=peak-50 --to=peak+9",
                            ["leak_two_per_layer"])
    yield "wrong_words", program("htlm in && png in --width=1 && report in --top=x && batch && diff in && plan in --set=x && nothing "
                                 "&& png in --sacle=2", ["one_event"])
    yield "outputs", program("report in -o out && report in -o out && html in -o dumps && png in -o none_x_", ["one_event"])
    yield "memory", program("html in --max-memory=1MiB && report in --max-memory=4MiB && batch dumps -o out --max-memory=20MiB", ["train"])
    yield "devices", program("report in --device=1 --group=stack --top=0 && png in --device=0 && html in --device=7", ["two_devices"])
    yield "logs", program("report in && html in && png in1 && report in2 --json", ["log_megatron", "log_deepspeed", "log_memory_summary"])
    yield "log_check", program("check --rule peak~<~75GiB --rule oom~=~none in in1 --format=junit && diff in in1", ["log_oom_new", "log_megatron"])
    yield "kineto", program("report in --json && html in && png in --axis=time", ["cpu_train.trace.json.gz"])
    yield "check_all", program("check --config=config --update-baseline in && check --config=config --format=junit in in1 "
                               "&& +GITHUB_STEP_SUMMARY=summary check --config=config --format=github in in1 && check --config=config --format=json in1",
                               ["train", "leak_graph"], CONFIG)
    yield "check_oom", program("check --config=config --format=junit in in1 in2 && +CI=true check --config=config --update-baseline in",
                               ["oom", "overflow", b"nothing"], CONFIG)
    yield "diff_oom", program("diff in in1 -o a.html && diff in in1 in2 --markdown && diff in#step=1 in1#at=peak -o b.png && diff in in2 --align=annotation",
                              ["train", "oom", "leak_graph"])
    yield "diff_redacted", program("diff in in1 --redact --filter=own:yes -o a.html && diff in in1 --align=step --json --top=0",
                                ["leak_zero_grad", "leak_zero_grad_healthy"])
    yield "diff_layers", program("diff in in1 && diff in1 in -o a.html --max-html-size=250KB", ["kept_per_layer", "kept_per_layer_healthy"])
    yield "plan_set", program("plan in --set=expandable_segments=True -o a.html && plan in --json --gpu=1GiB --set=max_split_size_mb=64", ["oom"])
    yield "batch_ranks", program("batch dumps -o out --png && batch dumps -o out --png --resume "
                                 "&& batch dumps -o out --resume && batch dumps -o out", ["leak_graph", "oom", "train", "one_event"])
    yield "batch_alike", program("batch dumps -o out -j1 --redact", ["train", "train", "train", "oom", "train"])
    yield "batch_ooms", program("batch dumps -o out && batch dumps -o out --resume", ["oom", "oom", "overflow", "oom", "streams"])
    yield "batch_hosts", program("@node0_tp0_pp0_step10_rank0.pickle @node0_tp1_pp0_step10_rank1.pickle @node1_tp0_pp1_step10_rank2.pickle "
                                 "@node1_tp1_pp1_step10_rank3.pickle @node1_tp0_pp1_step20_rank2.pickle @readme.txt batch dumps -o out "
                                 "&& batch dumps -o out --resume", ["train", "oom", "oom", "oom", "leak_graph", "log_oom_new"])
    yield "batch_names", program("@worker_0_iter_5.pickle @worker_1_iter_5.pickle @20240101_120000_2.pt @gpu3.pkl @empty.pickle "
                                 "batch dumps -o out -j2 && batch dumps -o out --resume", ["one_event", "one_event", "held_over", "oom", b""])
    yield "batch_logs", program("@rank0.log @rank1.log @train.log @rank2.pickle batch dumps -o out && batch dumps -o out --resume && batch dumps -o b",
                                ["log_megatron", "log_oom_new", "log_deepspeed", "oom"])
    yield "batch_shards", program("batch dumps -o out --shard=1/2 && +SLURM_PROCID=1 +SLURM_NTASKS=2 batch dumps -o out --shard=auto && batch dumps -o out --resume",
                                  ["one_event", "streams"])
    yield "batch_patterns", program("batch dumps in -o out --rank-regex=(?P<step>\\d+).*k(?P<rank>[0-9]+) --no-recursive && batch in in -o b --rank-regex=( "
                                    "&& +RANK=0 +WORLD_SIZE=2 batch dumps -o c --shard=auto --filter=own:yes", ["one_event", b"\x80", b""])
    yield "check_sites", program("check --rule=site:*.py~<=~baseline --rule=category.gradient~<=~baseline~+~2% --baseline=b --update-baseline in in1 "
                                 "&& check --rule=site:*.py~<=~baseline --rule=category.gradient~<=~baseline~+~2% --baseline=b in in1 "
                                 "&& check --rule=site:*.py~at~oom~<~1MiB --rule=site:f*~at~backward~>~9 --rule=site:a.py~at~optimizer~>=~9 --filter=size:>9 in "
                                 "--format=json && check --baseline=b --rule=peak<=baseline --filter=own:yes in --format=github", ["oom", "train"])
    yield "check_budget", program("check --rule=budget.weights~>~1GiB --rule=budget.graphs~<~9 --rule=reserved<9 --rule=finding.levels_rise=none in "
                                  "&& check --rule=finding.held_over=none --rule=reserved~<~9GiB in1 in2 --format=github && check --config=config in "
                                  "&& check --update-baseline in", [server, "train", b"nothing"], b'{"rules": 5}')
    for i, text in enumerate((b'{"files": []}', b'{"file": 1}', b'{"rules": [1.]}', b'{"files": {"a": 1}}', b'{"skip_steps": 01}', b'{"rules": ["peak\t"]}')):
        rules = [rule.replace(" ", "~") for rule in WRONG_RULES[3 * i : 3 * i + 3]]
        yield f"check_wrong_{i}", program("check --config=config in && " + " && ".join(f"check --rule={rule} in" for rule in rules), ["one_event"], text)
    yield "batch_dates", program("@2024-01-01-10-00-00_s20_rank0.pickle @2024-01-01_10-00-05_rank0.pickle @node-1-2-3-4_5_6_k1.pickle "
                                 "@time12.34.56.78_k2.pickle @iter_20-tp_1-k3.pickle @dump_20.pickle @dump_30.pickle @local_rank1.pt batch dumps -o out && batch dumps -o b --rank-regex=(?P<step>\\d+)(?P<tp>[^k]*).*k(?P<rank>[0-9]+) "
                                 "&& batch dumps -o c --rank-regex=rank && batch dumps -o d --rank-regex=k([0-9]+)", ["one_event"] * 8)
    yield "batch_into_itself", program("batch dumps -o dumps --png && batch dumps -o dumps && report in -o out && batch dumps -o out", ["held_over", b"no", "streams"])
    yield "batch_refused", program("@rank0.pickle @rank0.html @rank1.pickle batch dumps -o dumps && batch dumps -o out && batch out -o out && batch out dumps nowhere -o b",
                                   ["one_event", b"<p>", b"\x80"])
    yield "batch_wrong", program("batch dumps -o x.html", ["one_event"])
    yield "batch_parts", program("batch dumps -o out --shard=auto && +RANK=1 batch dumps -o out --shard=auto && +RANK=5 +WORLD_SIZE=2 batch dumps -o out --shard=auto "
                                 "&& batch - -o out", ["one_event"])
    yield "filters_wrong", program("report in --filter=sise:>9 && html in --filter=category:activatoin && png in --filter=|(| && report in --filter=category:zzz~x:y",
                                   ["one_event"])
    yield "options_wrong", program("png in --witdh && report --json=1 in && report -x in && png -- in in1 "
                                   "&& report in - -o x", ["one_event", "one_event"])
    yield "options_of_plan", program("plan in --gpu=9GiB --with=nothing && png in --device=9 && report dumps", ["one_event"])
    yield "exports_wrong", program("export in --to=nothing && export in -o a.csv --to=peak-5..peak+5 --from=9 && export in --to=csv --to=pprof && export in -o a.folded", ["two_devices"])
    yield "exports", program("export in -o a.csv && export in --to=sqlite -o a.db --at=peak && export in --to=folded --allocated --device=0 --redact && export in -o a.x", ["train"])
    yield "manual", program("help --manual strata && help --manual report && help --manual bash && help --manual zsh", [])
    yield "manual_fish", program("help --manual fish && help plan && version && segments in", [])
    yield "brief", program("report in --brief && report in1 --json --brief && report in2 --brief --device=1 && report in3 --brief",
                           ["train", "oom", "two_devices", "log_oom_new"])
    for name, *files in faults():
        yield name, program("report in --brief && html in -o a.html --hide-internal && report in --json --top=0 && check in --config=config", files, CONFIG)
    yield "series", program("html in in1 in2 -o a.html && report in in1 in2 -o b --json && report in in1 in2 -o d && png in in1 -o c.png", windows())
    yield "series_gaps", program("report in in1 in2 -o b --redact && html in in1 -o a.html", ["train", "streams", "two_devices"])


def faulty(name, **fields):
    """A recording with the fault at its peak, and few layers."""
    case = peak_twins.Case(name, peak_twins.STYLES[0], **{"rows": peak_twins.FAULTS[name].rows or 2, "layers": 2, **fields})
    return packed(peak_twins.recorded(peak_twins.play(case, True), True)[0])


def faults():
    """(name, recording) of faults that no sample has, and of recordings with the front cut off."""
    for name in ("leak behind a first call", "graph, freed", "old form"):
        yield re.sub("\\W+", "_", name), faulty(name)
    whole = peak_twins.play(peak_twins.Case("foreach", peak_twins.STYLES[0], layers=2), True).snapshot
    for part in (2, 3, 5):
        yield f"cut_{part}", packed(peak_twins.cut(whole, len(whole["device_traces"][0]) * part // 8))


def packed(snapshot):
    return gzip.compress(pickle.dumps(snapshot, 4), mtime=0)


def windows():
    """Three dumps of one run: the second overlaps the first, the third does not overlap the second."""
    import simulate

    settings = simulate.dataclasses.replace(simulate.settings_of(31), n_steps=60, ring=simulate.KEEP_ALL, record_after=0, n_devices=1,
                                            form="pickle4", lost=0, races=False, skipped=(), time=True, high_addresses=False)
    whole = pickle.loads(simulate.Simulation(settings).dump())
    events = whole["device_traces"][0]
    n = len(events)
    for begin, end in ((0, n // 2), (n // 4, 3 * n // 4), (7 * n // 8, n)):
        part = copy.deepcopy(whole)
        part["device_traces"] = [events[begin:end]]
        if end < n:
            part["segments"] = []
        yield packed(part)
