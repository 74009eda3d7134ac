#!/usr/bin/env python3
"""The operator against the whole prolog in torch, call by call in turn (A B A B), weights cold on both sides.

The operator runs in a process of its own (bench_operator --serve), strict, and with numerics fast beside torch's bf16.
OpenMP threads of both sides wait asleep, or they would take the processors from the other side. Needs torch (`pip install torch`); without it the program says so and exits with 4.

    bench/compare/compare_torch.py --bench build/release/bin/bench_operator --json torch.json
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time


SLOW = 8


class Operator:
    """Timed calls of the library."""

    def __init__(self, program, threads, isa):
        self.process = subprocess.Popen([program, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.threads, self.isa = threads, isa

    def call(self, scenario, tokens, numerics="strict"):
        time.sleep(0.002)
        print(scenario, tokens, self.isa, self.threads, numerics, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if answer.startswith("ERROR") or not answer:
            raise RuntimeError(answer or "bench_operator ended")
        time.sleep(0.002)
        return float(answer)

    def has_fast(self, scenario, tokens):
        """Whether there are matmuls for numerics fast here."""
        try:
            self.call(scenario, tokens, "fast")
        except RuntimeError:
            return False
        return True

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def time_of(variant, weights, inputs):
    start = time.perf_counter()
    variant.call(weights, inputs)
    return time.perf_counter() - start


def measure(operator, scenario, tokens, variants, copies, effort):
    """Medians of the operator and of each variant."""
    inputs = [torch_prolog.inputs_for(variant, tokens) for variant in variants]
    own, others, fast = [], [[] for _ in variants], []
    with_fast = scenario == "w0kv0" and operator.has_fast(scenario, tokens)
    begin = time.monotonic()
    for turn in range(-1, effort.rounds):  # the first is for both sides to settle
        if turn >= 3 and time.monotonic() - begin > effort.seconds:
            break
        seconds = [operator.call(scenario, tokens)]
        for i, variant in enumerate(variants):
            seconds.append(time_of(variant, copies[i][turn % len(copies[i])], inputs[i]))
        its_fast = operator.call(scenario, tokens, "fast") if with_fast else None
        if turn >= 0:
            own.append(seconds[0])
            if its_fast:
                fast.append(its_fast)
            for i, other in enumerate(others):
                other.append(seconds[i + 1])
    medians = {variant.name: statistics.median(other) for variant, other in zip(variants, others)}
    best = min(medians, key=medians.get)
    cell = {
        "scenario": scenario, "tokens": tokens, "isa": operator.isa, "threads": operator.threads, "rounds": len(own),
        "seconds": statistics.median(own), "variants": [{"name": n, "seconds": s} for n, s in medians.items()],
        "best": best, "ratio": medians[best] / statistics.median(own),
    }
    if fast:
        cell.update(fast_seconds=statistics.median(fast), fast_ratio=medians[best] / statistics.median(fast))
    return cell


def usable(make, copies):
    """A variant and its weights, or None where this torch lacks what it needs."""
    try:
        variant = make()
        weights = variant.copies(copies)
        variant.call(weights[0], torch_prolog.inputs_for(variant, 32))
        return variant, weights
    except (RuntimeError, AttributeError, NotImplementedError) as error:
        print(f"left out: {make().name}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None


def print_table(cells):
    for cell in cells:
        others = "  ".join(f"{v['name']} {v['seconds'] * 1e3:.2f}" for v in cell["variants"])
        print(f"{cell['scenario']} T {cell['tokens']:5d}  operator {cell['seconds'] * 1e3:8.2f} ms  "
              f"ratio {cell['ratio']:5.2f} to {cell['best']}  | "
              + (f"fast {cell['fast_seconds'] * 1e3:.2f} ms ratio {cell['fast_ratio']:.2f} | " if "fast_ratio" in cell else "")
              + others, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bin/bench_operator", help="the program bench_operator")
    parser.add_argument("--scenarios", default="w0kv0,w2kv0")
    parser.add_argument("--tokens", default="1,8,64,512")
    parser.add_argument("--isa", default="auto", help="of the operator; avx2 limits torch, too")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--copies", type=int, default=3, help="of the weights, in rotation")
    parser.add_argument("--rounds", type=int, default=15, help="most rounds of a cell")
    parser.add_argument("--seconds", type=float, default=3.0, help="a cell ends after this time, but not before 3 rounds")
    parser.add_argument("--json", help="write the report here")
    effort = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # of torch, read when it is loaded, and of the operator
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch's tensors in huge pages, as the operator's
    if effort.isa == "avx2":  # all three are read when torch is loaded
        os.environ.update(ONEDNN_MAX_CPU_ISA="AVX2", ATEN_CPU_CAPABILITY="avx2", MKL_ENABLE_INSTRUCTIONS="AVX2")
    global torch_prolog
    try:
        import torch

        import torch_prolog
    except ImportError as error:
        print(f"SKIPPED: {error}; `pip install torch` for this comparison", file=sys.stderr)
        return 4
    torch.set_grad_enabled(False)
    torch.set_num_threads(effort.threads)
    operator = Operator(effort.bench, effort.threads, effort.isa)
    report = {
        "program": "compare_torch", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "threads": effort.threads, "versions": {"torch": torch.__version__}, "int8": torch_prolog.int8_errors(),
        "cells": [],
    }
    try:
        for scenario in effort.scenarios.split(","):
            made = [pair for pair in (usable(make, effort.copies) for make in torch_prolog.VARIANTS[scenario]) if pair]
            variants, copies = [m[0] for m in made], [m[1] for m in made]
            for tokens in map(int, effort.tokens.split(",")):
                cell = measure(operator, scenario, tokens, variants, copies, effort)
                report["cells"].append(cell)
                print_table([cell])
                # What is so slow is not the best with more tokens either, and would take minutes (bf16 without hardware).
                best = min(v["seconds"] for v in cell["variants"])
                quick = {v["name"] for v in cell["variants"] if v["seconds"] < SLOW * best}
                kept = [pair for pair in zip(variants, copies) if pair[0].name in quick]
                variants, copies = [k[0] for k in kept], [k[1] for k in kept]
    finally:
        operator.close()
    print(f"int8 on full-range data: {report['int8']['wrong']} of {report['int8']['results']} results wrong")
    if effort.json:
        with open(effort.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
