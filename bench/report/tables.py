"""From the programs' JSON to Markdown. A number that falls short of its target is bold and followed by the target."""

import math
import re

import targets

# Nothing is so much faster than the roof: something else used the machine while that was measured.
DISTURBED = 1.05
# bf16 dot products do two multiply-adds where the roof's instruction does one.
DISTURBED_PAIRS = 2.1


def is_disturbed(cell):
    return cell["share_of_roof"] > (DISTURBED_PAIRS if cell.get("bf16_pairs") else DISTURBED)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def rounded(value, at_most=False, digits=2):
    """Towards the side that falls short, so that what is shown never reaches a target that the value does not."""
    scaled = value * 10**digits
    return f"{(math.ceil(scaled - 1e-9) if at_most else math.floor(scaled + 1e-9)) / 10**digits:.{digits}f}"


def judged(value, target, at_most=False, digits=2):
    text = rounded(value, at_most, digits)
    if target is None:
        return text
    met = value <= target if at_most else value >= target
    sign = "≤" if at_most else "≥"
    return text if met else f"**{text}** ({sign} {target:g})"


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def unique(values):
    return list(dict.fromkeys(values))


def machine(reports):
    operator = reports["operator"]
    versions = dict(operator["versions"])
    for name in ("onednn", "torch"):
        for report in reports.values():
            if name in report["versions"]:
                versions[name] = report["versions"][name]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    pages = {"always": "huge pages", "madvise": "huge pages"}.get(operator["huge_pages"], "small pages")
    return (f"{operator['cpu']}, {operator['threads']} threads, all large memory in {pages}; {named}; "
            f"{operator['date']}.")


def groups(cells):
    """Cells by instruction set, engine and number of threads, in the order of the file."""
    keys = unique((c["isa"], c["engine"], c["threads"]) for c in cells)
    return [(key, [c for c in cells if (c["isa"], c["engine"], c["threads"]) == key]) for key in keys]


def grid(cells, text):
    """Rows: numbers of tokens; columns: scenarios."""
    scenarios = unique(c["scenario"] for c in cells)
    by_place = {(c["scenario"], c["tokens"]): c for c in cells}
    rows = []
    for tokens in sorted({c["tokens"] for c in cells}):
        found = [by_place.get((scenario, tokens)) for scenario in scenarios]
        rows.append([str(tokens)] + [text(c) if c else "" for c in found])
    return table(["T"] + scenarios, rows)


def share_grid(cells):
    return grid(cells, lambda c: judged(c["share_of_roof"],
                                        targets.share_of_roof(c["scenario"], c["tokens"], c["isa"])))


def target_summary(cells):
    """The table of targets itself: in each of its fields the least share, and where that is."""
    kinds = {"bf16 (w0)": "0", "int8 (w1, w2)": "12", "mxfp8, fp8, hif8": "345"}
    ranges = {"1": lambda t: t == 1, "2 - 64": lambda t: 2 <= t <= 64, "256 and more": lambda t: t >= 256}
    rows = []
    for label, within in ranges.items():
        row = [label]
        for modes in kinds.values():
            chosen = [c for c in cells if c["scenario"][1] in modes and within(c["tokens"])]
            if not chosen:
                row.append("not measured")
                continue
            high = [c["share_of_roof"] for c in chosen if is_disturbed(c)]
            if high:
                row.append(f"**disturbed**: a share of {max(high):.2f}")
                continue
            least = min(chosen, key=lambda c: c["share_of_roof"])
            target = targets.share_of_roof(least["scenario"], least["tokens"], least["isa"])
            met = "reached" if least["share_of_roof"] >= target else "**falls short**"
            row.append(f"{met}: ≥ {target:.2f} asked, least {rounded(least['share_of_roof'])} "
                       f"({least['scenario']}, T = {least['tokens']})")
        rows.append(row)
    return table(["T"] + list(kinds), rows)


def operator_section(report):
    parts = []
    for (isa, engine, threads), cells in groups(report["cells"]):
        name = f"{isa}, {engine}, {threads} threads"
        roofs = cells[0]["roofs"]
        int8 = max(c["roofs"]["int8_ops_per_second"] for c in cells)
        parts += [
            f"### {name}",
            f"Roofs (the first cell's): read {roofs['read_bytes_per_second'] / 1e9:.1f} GB/s, float32 multiply-add "
            f"{roofs['float_ops_per_second'] / 1e9:.0f} GFLOP/s" + (f", int8 {int8 / 1e9:.0f} GOP/s." if int8 else "."),
            "Targets:", target_summary(cells),
            "Share of the roof:", share_grid(cells),
            "Median milliseconds:", grid(cells, lambda c: milliseconds(c["median_seconds"])),
            "Row steps (RmsNorm, RoPE, quantisation, dequantisation, cache writes), share of the time:",
            grid(cells, lambda c: judged(c["row_share"], targets.row_share(c["scenario"], c["tokens"]), True, 3)),
            "First call after planning / median:",
            grid(cells, lambda c: judged(c["first_over_median"], targets.FIRST_OVER_MEDIAN, True)),
        ]
    if any(c.get("bf16_pairs") for c in report["cells"]):
        parts.append("bf16 matmuls of many tokens are done by the CPU's bf16 dot products where the operands allow it, "
                     "two multiply-adds at a time; the roof counts single ones, so that shares can exceed 1.")
    disturbed = sum(is_disturbed(c) for c in report["cells"])
    if disturbed:
        parts.append(f"**{disturbed} of {len(report['cells'])} shares are above {DISTURBED}: something else used the machine. "
                     "Measure again on one that does nothing else.**")
    if report["left_out"]:
        parts += ["Left out:", "\n".join(unique("* " + re.sub(r" T \d+", "", text) for text in report["left_out"]))]
    return parts


def peer_rows(cells, name_key, target):
    rows = []
    for c in cells:
        peers = ", ".join(f"{v[name_key]} {milliseconds(v['seconds'])}" for v in c["variants"])
        rows.append([c["scenario"], c["isa"], str(c["tokens"]), milliseconds(c["seconds"]), peers,
                     judged(c["ratio"], target(c))])
    return rows


PEER_HEAD = ["scenario", "isa", "T", "operator ms", "peer ms", "best peer / operator"]


def onednn_section(report):
    inexact = unique(v["types"] for c in report["cells"] for v in c["variants"] if v["relative_difference"] > 0.05)
    rows = peer_rows(report["cells"], "types", lambda c: targets.ONEDNN_RATIO)
    for row, c in zip(rows, report["cells"]):
        f32 = [v["seconds"] for v in c["variants"] if v["types"].endswith("f32") and not v["types"].endswith("bf16")]
        row.append(judged(min(f32) / c["seconds"], targets.ONEDNN_RATIO) if f32 else "")
        row += [milliseconds(c["fast_seconds"]), judged(c["fast_ratio"], targets.ONEDNN_RATIO)] if "fast_ratio" in c else [
            "", ""]
    parts = [
        "## Against an unfused oneDNN pipeline",
        "The operator is strict: float sums in the order of the contract, by float32 multiply-add. The peers' bf16 matmuls "
        "use whatever the CPU has; the column of float32 peers compares like with like, and the last two columns are the "
        "operator with numerics fast, its matmuls on oneDNN, against the same best peer.",
        table(PEER_HEAD + ["best f32 peer / operator", "fast operator ms", "best peer / fast operator"], rows),
    ]
    if inexact:
        parts.append(f"Wrong results (relative difference above 0.05): {', '.join(inexact)}.")
    return parts


def torch_section(report):
    wrong = report["int8"]["wrong"]
    bad = ", ".join(f"{name}: {count} of {report['int8']['results']}" for name, count in wrong.items() if count)
    target_of = lambda c: targets.TORCH_RATIO.get(c["scenario"], {}).get(c["tokens"])
    rows = peer_rows(report["cells"], "name", target_of)
    for row, c in zip(rows, report["cells"]):
        row += [milliseconds(c["fast_seconds"]), judged(c["fast_ratio"], target_of(c))] if "fast_ratio" in c else ["", ""]
    for c in report["cells"]:
        own = [v["seconds"] for v in c["variants"] if v["name"].startswith("bfloat16")]
        target = targets.TORCH_BF16_RATIO.get(c["tokens"])
        if c["scenario"] == "w0kv0" and own and target:
            rows.append([c["scenario"], c["isa"], str(c["tokens"]), milliseconds(c["seconds"]),
                         f"torch's own bf16 {milliseconds(min(own))}", judged(min(own) / c["seconds"], target), "", ""])
    return [
        "## Against torch",
        "The last two columns are the operator with numerics fast against the same best peer.",
        table(PEER_HEAD + ["fast operator ms", "best peer / fast operator"], rows),
        f"torch's int8 results on full-range data that are wrong: {bad}." if bad else
        "torch's int8 results on full-range data are exact on this machine.",
    ]


def document(reports, picture):
    """All of the generated part."""
    parts = [machine(reports), f"![Roofline]({picture})", "## Share of the roof"]
    parts += operator_section(reports["operator"])
    for name, section in (("onednn", onednn_section), ("torch", torch_section)):
        for key, report in reports.items():
            if key.split("-")[0] == name:
                parts += section(report)
    return "\n\n".join(parts)
