"""Runs each bench program at its smallest and looks at its JSON: keys, finite positive numbers, every cell asked for.

check_benches.py OPERATOR SUITE COMPARE_ONEDNN: "-" is a program that this build does not have.
"""

import json
import math
import subprocess
import sys

TINY = ["--he", "64", "--hcq", "64", "--heads", "2", "--nope-dim", "128", "--rounds", "1", "--json", "-"]
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def output(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{command[0]} exits with {done.returncode}: {done.stderr}")
    return done.stdout


def positive(where, json_object, keys):
    for key in keys:
        value = json_object.get(key)
        expect(isinstance(value, (int, float)) and math.isfinite(value) and value > 0, f"{where}: {key} is {value}")


def check_header(name, report):
    expect(report.get("program") == name, f"{name}: program {report.get('program')}")
    for key in ("cpu", "date", "threads", "versions"):
        expect(report.get(key), f"{name}: no {key}")


def check_operator(program):
    scenarios, tokens, threads = ["w0kv0", "w1kv0", "w2kv1", "w3kv1", "w4kv1", "w5kv1"], [1, 3], [1, 2]
    command = [program, *TINY, "--isa", "all", "--scenarios", ",".join(scenarios),
               "--tokens", ",".join(map(str, tokens)), "--threads", ",".join(map(str, threads))]
    report = json.loads(output(command))
    check_header("bench_operator", report)
    cells = [c for c in report["cells"] if c["engine"] == "native"]  # other engines may leave cases out
    expect(not [text for text in report["left_out"] if " native: " in text], f"left out: {report['left_out']}")
    seen = {(c["scenario"], c["tokens"], c["threads"]) for c in cells}
    expect(seen == {(s, t, n) for s in scenarios for t in tokens for n in threads}, f"cells {seen}")
    for c in report["cells"]:
        where = f"{c['scenario']} T {c['tokens']} {c['isa']} {c['engine']}"
        positive(where, c, ["median_seconds", "roof_seconds", "share_of_roof", "first_over_median", "row_share",
                            "gb_per_second", "gflop_per_second", "rounds"])
        roofs = ["read_bytes_per_second", "float_ops_per_second"]
        if c["scenario"][1] in "12":
            roofs.append("int8_ops_per_second")
        if c["scenario"][1] in "345":
            roofs.append("decoded_ops_per_second")
        positive(where, c["roofs"], roofs)
        # Independent of the program's own sum: 2 T per weight.
        weights = 64 * (64 + 576) + 64 * 2 * 192 + 2 * 128 * 512
        ops = sum(c["work"][k] for k in ("float_ops", "int8_ops", "decoded_ops"))
        expect(ops == 2 * c["tokens"] * weights, f"{where}: {ops} operations")
    expect(len({c["isa"] for c in cells}) * len(seen) == len(cells), "cells of some instruction set are missing")


def check_refusals(program):
    """What cannot be had is said and left out; nothing at all is an error."""
    for options, status in ([["--isa", "mmx"], 2], [["--scenarios", "w0kv9"], 2], [["--threads", "5000"], 2]):
        done = subprocess.run([program, *TINY, *options], capture_output=True, text=True, check=False)
        expect(done.returncode == status and "ERROR" in done.stderr, f"{options}: {done.returncode} {done.stderr}")


def check_serve(program):
    dims = TINY[:TINY.index("--rounds")]
    answers = output([program, "--serve", *dims], "w0kv0 2 auto 1\nw9kv9 2 auto 1\nnonsense\nw2kv0 1 auto 2\n"
                     "w0kv0 1 auto 1 fast\nw0kv0 1 auto 1 quick\n").split("\n")
    expect(len(answers) == 7, f"serve: answers {answers}")
    expect(all(float(answers[i]) > 0 for i in (0, 3)), f"serve: times {answers}")
    # Builds without oneDNN, and CPUs for which it has nothing quick, refuse by name.
    expect(answers[4].startswith("ERROR numerics fast:") or float(answers[4]) > 0, f"serve: fast {answers}")
    expect(all(answers[i].startswith("ERROR") for i in (1, 2, 5)), f"serve: refusals {answers}")


def check_suite(program):
    # One of each family.
    names = ["roof/multiply_add/", "row/rms_norm/512/", "block/", "tile/mx/T2/", "matmul/weight_dkv_kr/bf16/T1/in_place/",
             "stage/B/w2kv1/T1/"]
    pattern = "|".join(names)
    report = json.loads(output([program, f"--benchmark_filter=^({pattern})", "--benchmark_min_time=0.001",
                                "--benchmark_format=json"]))
    expect(report["context"].get("mla_prolog"), "suite: no version")
    for name in names:
        found = [b for b in report["benchmarks"] if b["name"].startswith(name)]
        expect(found, f"suite: nothing named {name}")
        for b in found:
            expect(not b.get("error_occurred"), f"suite: {b['name']}: {b.get('error_message')}")
            positive(b["name"], b, ["real_time"])
    for b in report["benchmarks"]:
        if b["name"].startswith("matmul/"):
            positive(b["name"], b, ["GB/s", "GFLOP/s", "share_of_roof"])
    listed = output([program, "--benchmark_list_tests=true"]).split("\n")
    for family in ("roof/", "row/", "block/", "tile/", "matmul/", "stage/", "operator/"):
        expect(any(line.startswith(family) for line in listed), f"suite: no {family}")


def check_onednn(program):
    report = json.loads(output([program, *TINY, "--tokens", "1,5"]))
    check_header("compare_onednn", report)
    expect(report["versions"].get("onednn"), "onednn: no version")
    cells = report["cells"]
    expect([(c["scenario"], c["tokens"]) for c in cells] == [(s, t) for s in ("w0kv0", "w2kv0") for t in (1, 5)],
           "onednn: cells")
    for c in cells:
        positive(c["scenario"], c, ["seconds", "ratio"])
        expect(c["variants"], f"{c['scenario']}: no variant")
        for v in c["variants"]:
            positive(v["types"], v, ["seconds"])
            # Without VNNI oneDNN's int8 is not exact; its floats are always near.
            if v["types"] in ("f32", "bf16"):
                expect(v["relative_difference"] < 0.03, f"{c['scenario']} {v['types']}: {v['relative_difference']}")


operator, suite, onednn = sys.argv[1:4]
check_operator(operator)
check_refusals(operator)
check_serve(operator)
if suite != "-":
    check_suite(suite)
else:
    print("SKIPPED: bench_suite is not built, Google Benchmark was not found")
if onednn != "-":
    check_onednn(onednn)
else:
    print("SKIPPED: compare_onednn is not built, oneDNN was not found")
print("\n".join(failures))
sys.exit(1 if failures else 0)
