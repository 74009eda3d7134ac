#!/usr/bin/env python3
"""Where the time of a call goes: python3 bench/report/profile.py --scenario w2kv1 --tokens 8 [--isa avx2]

Samples `mla-prolog explain --measure` with `perf record` (package linux-perf; without it the program says so and exits
with 4), keeps the samples of the operator itself, and prints their shares by what was done, and within the register
tiles by kind of instruction. A sample belongs to the instruction before the one it shows at: that is the one waited for.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
# By symbol, the first that matches; None: not of the operator (generating data, preparing).
PARTS = [
    (r"(panel|in_place)(_int|_mx|_pairs)?_tile", "tiles"),
    (r"kernels::.*(pack_x)", "packing of tokens"),
    (r"kernels::.*(pack_units|pack_panels|pack_pairs|packed_pairs|packed<|in_place<|expand_scales)", "decoding of panels, scales"),
    (r"kernels::.*|mla_prolog::cpu::.*", "row steps and the rest"),
    (r"^0x|gomp|omp", "waiting for the other threads"),
    (r".*", None),
]
KINDS = [
    (r"prefetcht1", "fetching ahead"),
    (r"prefetch", "fetching nearer"),
    (r"vfmadd|vpdpbusd|vdpbf16ps|vpmaddwd|vpaddd|vmulps|vaddps", "multiplying"),
    (r"vmovdqu|vpmovzx|vpmovsx", "loading and widening weights"),
    (r"vbroadcast|vpbroadcast", "loading tokens"),
    (r"v(ps|px|pand|por|pt|perm|punpck|pblend|pcmp|cvt|pshuf|insert|extract)", "decoding"),
    (r".*", "the rest"),
]


def first_match(table, text):
    return next(name for pattern, name in table if re.search(pattern, text))


def perf(*arguments):
    return subprocess.run(["perf", *arguments], capture_output=True, text=True, check=True).stdout


def shares(counter):
    total = sum(counter.values())
    return ", ".join(f"{name} {100 * count / total:.0f} %" for name, count in counter.most_common() if count > 0.005 * total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--scenario", default="w2kv1")
    parser.add_argument("--tokens", default="8")
    parser.add_argument("--isa", default="auto")
    parser.add_argument("--repeat", default="600", help="calls")
    options = parser.parse_args()
    if shutil.which("perf") is None:
        print("perf is not installed", file=sys.stderr)
        sys.exit(4)
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "perf.data"
        perf("record", "-o", data, "-e", "cpu-clock", "-F", "8000", options.build / "bin/mla-prolog", "explain", "--quant",
             options.scenario, "--tokens", options.tokens, "--isa", options.isa, "--measure", "--repeat", options.repeat)
        report = perf("report", "-i", data, "--no-children", "-F", "sample,sym", "--stdio", "-w", "10,400")
        parts, tiles = collections.Counter(), []
        for samples, where, symbol in re.findall(r"^\s*(\d+)\s+\[(.)\] (.*)$", report, re.MULTILINE):
            part = first_match(PARTS, symbol) if where == "." else None
            if part is None:
                continue
            parts[part] += int(samples)
            if part == "tiles":
                tiles.append((int(samples), symbol.strip()))
        print(f"{options.scenario} T {options.tokens} {options.isa}: {shares(parts)}")
        for samples, symbol in tiles[:2]:
            kinds, before = collections.Counter(), ""
            for percent, instruction in re.findall(r"^\s*([\d.]+)\s+:\s+[0-9a-f]+:\s+(\S+)",
                                                   perf("annotate", "-i", data, "--stdio", "-s", symbol), re.MULTILINE):
                kinds[first_match(KINDS, before)] += float(percent)
                before = instruction
            short = re.sub(r"mla_prolog::kernels::|\(anonymous namespace\)::|\(.*\)$|^void ", "", symbol)
            print(f"  {short}, {100 * samples / sum(parts.values()):.0f} %: {shares(kinds)}")


if __name__ == "__main__":
    main()
