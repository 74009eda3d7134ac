"""The roofline as SVG: operations per weight byte across, operations per second up, both logarithmic."""

import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 520, 70, 170, 30, 50
COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"]


class Axes:
    def __init__(self, xs, ys):
        self.x0, self.x1 = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)))
        self.y0, self.y1 = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def x(self, value):
        return LEFT + (math.log10(value) - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - (math.log10(value) - self.y0) / (self.y1 - self.y0) * (HEIGHT - TOP - BOTTOM)

    def svg(self):
        parts = []
        for e in range(self.x0, self.x1 + 1):
            x = self.x(10.0**e)
            parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" class="grid"/>')
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10.0**e:g}</text>')
        for e in range(self.y0, self.y1 + 1):
            y = self.y(10.0**e)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" class="grid"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**e:g}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">operations per weight byte</text>')
        parts.append(f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" '
                     f'transform="rotate(-90 16 {HEIGHT / 2})">GOP/s</text>')
        return parts


def total_ops(cell):
    work = cell["work"]
    return work["float_ops"] + work["int8_ops"] + work["decoded_ops"]


def intensity(cell):
    return total_ops(cell) / cell["work"]["weight_bytes"]


def rate(cell):
    return total_ops(cell) / cell["median_seconds"] / 1e9


def roofs_of(cells):
    """Medians over the cells: GB/s, and peaks in GOP/s by name."""
    def middle(name):
        values = sorted(c["roofs"][name] for c in cells if c["roofs"][name] > 0)
        return values[len(values) // 2] / 1e9 if values else 0

    peaks = {"float32 multiply-add": middle("float_ops_per_second"), "int8": middle("int8_ops_per_second")}
    return middle("read_bytes_per_second"), {name: peak for name, peak in peaks.items() if peak}


def svg(report):
    first = report["cells"][0]
    cells = [c for c in report["cells"]
             if all(c[key] == first[key] for key in ("isa", "engine", "threads"))]
    read, peaks = roofs_of(cells)
    axes = Axes([intensity(c) for c in cells] + [1.0], [rate(c) for c in cells] + list(peaks.values()))
    parts = axes.svg()
    right = 10.0**axes.x1
    for name, peak in peaks.items():
        ridge = peak / read
        start = max(10.0**axes.x0, 10.0**axes.y0 / read)
        parts.append(f'<path d="M{axes.x(start):.1f} {axes.y(start * read):.1f}L{axes.x(ridge):.1f} {axes.y(peak):.1f}'
                     f'H{axes.x(right):.1f}" class="roof"/>')
        parts.append(f'<text x="{axes.x(right) - 4:.1f}" y="{axes.y(peak) - 6:.1f}" text-anchor="end">'
                     f"{name} {peak:.0f}</text>")
    for i, scenario in enumerate(dict.fromkeys(c["scenario"] for c in cells)):
        colour = COLOURS[i % len(COLOURS)]
        own = sorted((c for c in cells if c["scenario"] == scenario), key=lambda c: c["tokens"])
        line = "L".join(f"{axes.x(intensity(c)):.1f} {axes.y(rate(c)):.1f}" for c in own)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}"/>')
        for c in own:
            parts.append(f'<circle cx="{axes.x(intensity(c)):.1f}" cy="{axes.y(rate(c)):.1f}" r="3.5" fill="{colour}">'
                         f"<title>{scenario}, T = {c['tokens']}: {rate(c):.0f} GOP/s, "
                         f"{c['share_of_roof']:.2f} of the roof</title></circle>")
        y = TOP + 20 + 20 * i
        parts.append(f'<circle cx="{WIDTH - RIGHT + 20}" cy="{y}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 32}" y="{y + 4}">{scenario}</text>')
    parts.append(f'<text x="{LEFT}" y="18">{report["cpu"]}, {first["isa"]}, {first["threads"]} threads, read '
                 f"{read:.1f} GB/s; {report['date']}</text>")
    style = (".grid{stroke:#ddd;fill:none}.roof{stroke:#000;stroke-width:1.5;fill:none}"
             "text{font:12px sans-serif;fill:#222}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}"><style>{style}</style><rect width="100%" height="100%" fill="#fff"/>'
            + "\n".join(parts) + "</svg>\n")
