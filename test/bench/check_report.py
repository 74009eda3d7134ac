"""The report of a sample made by hand: expected rows, marks where a number falls short, and what stands around them.

check_report.py REPORT SAMPLE-FOLDER WORK-FOLDER
"""

import pathlib
import shutil
import subprocess
import sys
import xml.dom.minidom

report, sample, work = map(pathlib.Path, sys.argv[1:4])
failures = []


def expect(text, part):
    if part not in text:
        failures.append(f"not in the page: {part}")


def write_report():
    done = subprocess.run([sys.executable, report, "--from", sample, "--output", work], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"report exits with {done.returncode}: {done.stderr}")
    return (work / "performance.md").read_text(encoding="utf-8")


shutil.rmtree(work, ignore_errors=True)
first = write_report()
for line in [
    "Sample CPU, 4 threads, all large memory in huge pages; mla_prolog 0.1.0, compiler GCC 12, onednn 2.6.3, torch 9.9; 2026-01-02.",
    "### avx512, native, 4 threads",
    # Shares: reached; short of 0.75; reached.
    "| T | w0kv0 | w2kv1 | w4kv1 |\n|---|---|---|---|\n| 1 | 0.95 |  |  |\n| 8 | **0.70** (≥ 0.75) | 0.81 |  |",
    "| 1 | reached: ≥ 0.90 asked, least 0.95 (w0kv0, T = 1) | not measured | not measured |",
    "| 2 - 64 | **falls short**: ≥ 0.75 asked, least 0.70 (w0kv0, T = 8) | reached: ≥ 0.75 asked, least 0.81 (w2kv1, T = 8) |",
    # No more than the roof can be reached.
    "| 256 and more | not measured | not measured | **disturbed**: a share of 1.40 |",
    "**1 of 5 shares are above 1.05: something else used the machine.",
    # AVX2 is asked 0.80 where others are asked 0.85.
    "| 256 and more | reached: ≥ 0.80 asked, least 0.82 (w0kv0, T = 256) |",
    # Milliseconds, row steps (12 % are allowed with quantised queries, nothing is asked at T = 1), first calls.
    "| 1 | 4.7 |  |  |\n| 8 | 6 | 4 |  |\n| 512 |  |  | 300 |",
    "| 1 | 0.011 |  |  |\n| 8 | **0.064** (≤ 0.05) | 0.110 |  |",
    "| 1 | 1.05 |  |  |\n| 8 | **1.31** (≤ 1.2) | 1.00 |  |",
    "Left out:\n\n* w3kv1 avx512 other: a reason\n\n",
    "| w0kv0 | avx512 | 1 | 5 | f32 10 | 2.00 |",
    "| w2kv0 | avx512 | 64 | 20 | s8+f32 18 | **0.90** (≥ 1) |",
    "Wrong results (relative difference above 0.05): s8+f32.",
    "| w0kv0 | auto | 512 | 200 | bfloat16 (N,K) 800, float32 (N,K) 250 | **1.25** (≥ 1.3) |",
    "| w0kv0 | auto | 512 | 200 | torch's own bf16 800 | 4.00 |",
    "wrong: _int_mm (K,N): 17 of 2048.",
]:
    expect(first, line)

# Text around the markers survives a second report, and nothing is there twice.
page = work / "performance.md"
page.write_text(first.replace("# Performance\n", "# Performance\n\nBefore.\n") + "\n## Where the cycles go\n\nAfter.\n",
                encoding="utf-8")
second = write_report()
expect(second, "# Performance\n\nBefore.\n")
expect(second, "## Where the cycles go\n\nAfter.\n")
if second.count("### avx512, native") != 1:
    failures.append("the generated part is there more than once")

picture = xml.dom.minidom.parse(str(work / "performance.svg"))
# One of the best set's cells each, and one in the legend for each scenario.
circles = len(picture.getElementsByTagName("circle"))
if circles != 4 + 3:
    failures.append(f"{circles} points in the picture")
roofs = [p for p in picture.getElementsByTagName("path") if p.getAttribute("class") == "roof"]
if len(roofs) != 2:
    failures.append(f"{len(roofs)} roofs in the picture")

print("\n".join(failures))
sys.exit(1 if failures else 0)
