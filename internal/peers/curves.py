#!/usr/bin/env python3
"""Draws the runs that opticks and follow.py left, as SVG on standard output: training loss (mean of 20 steps)
of both implementations, and their validation losses as dots.

  curves.py DIR [DIR ...] > docs/opticks.svg
"""
import json, os, sys

W, H, PAD = 760, 380, 46
LOW, HIGH = 1.2, 4.6  # nats per token


def smooth(losses, n=20):
    return [(i + n / 2, sum(losses[i : i + n]) / n) for i in range(0, len(losses) - n + 1, n)]


def main(dirs):
    runs = [(json.load(open(os.path.join(d, "run.json"))), json.load(open(os.path.join(d, "torch.json")))) for d in dirs]
    steps = max(len(r["losses"]) for r, _ in runs)
    x = lambda s: PAD + s / steps * (W - 2 * PAD)
    y = lambda v: H - PAD - (v - LOW) / (HIGH - LOW) * (H - 2 * PAD)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" font-size="12">',
           f'<rect width="{W}" height="{H}" fill="white"/>']
    for v in (1.5, 2, 2.5, 3, 3.5, 4, 4.5):
        out.append(f'<path d="M{PAD} {y(v):.1f}H{W - PAD}" stroke="#ddd"/><text x="{PAD - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v}</text>')
    for s in range(0, steps + 1, steps // 4):
        out.append(f'<text x="{x(s):.1f}" y="{H - PAD + 18}" text-anchor="middle">{s}</text>')
    out.append(f'<text x="{W / 2}" y="{H - 8}" text-anchor="middle">step</text><text x="{PAD}" y="{PAD - 12}">nats per token</text>')
    for ours, theirs in runs:
        for losses, style in ((theirs["losses"], 'stroke="#e67e22" stroke-width="4" opacity="0.5"'), (ours["losses"], 'stroke="#1f4e9c" stroke-width="1.2"')):
            points = " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in smooth(losses))
            out.append(f'<polyline points="{points}" fill="none" {style}/>')
        for s, a, b in zip(ours["validation_at"], ours["validation"], theirs["validation"]):
            out.append(f'<circle cx="{x(s):.1f}" cy="{y(b):.1f}" r="5" fill="#e67e22" opacity="0.5"/><circle cx="{x(s):.1f}" cy="{y(a):.1f}" r="2" fill="#1f4e9c"/>')
    out.append(f'<text x="{W - PAD}" y="{PAD}" text-anchor="end" fill="#e67e22">PyTorch (wide)</text>'
               f'<text x="{W - PAD}" y="{PAD + 16}" text-anchor="end" fill="#1f4e9c">tinylm (thin); dots: validation</text></svg>')
    print("\n".join(out))


if __name__ == "__main__":
    main(sys.argv[1:]) if len(sys.argv) > 1 else sys.exit(__doc__)
