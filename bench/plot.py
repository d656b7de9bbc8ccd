"""A bar chart as SVG."""

from __future__ import annotations

from xml.sax.saxutils import escape

_BAR, _GAP, _LEFT, _WIDTH, _RIGHT = 18, 8, 230, 460, 110
_COLOURS = {"reference": "#8a8f98", "gateway": "#2f6fde", "peer": "#d97a2b"}


def bars(title: str, unit: str, figures: list[tuple[str, float, str]]) -> str:
    """Rows of name, figure and kind (a key of ``_COLOURS``). What is longer than the plot ends in a break."""
    most = min(max(figure for _, figure, _ in figures), 12 * min(figure for _, figure, _ in figures))
    height = 40 + len(figures) * (_BAR + _GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="8" y="20" font-size="14">{escape(title)}</text>',
    ]
    for place, (name, figure, kind) in enumerate(figures):
        top = 34 + place * (_BAR + _GAP)
        width = _WIDTH * min(figure, most) / most
        broken = " …" if figure > most else ""
        lines += [
            f'<text x="{_LEFT - 8}" y="{top + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR}" fill="{_COLOURS[kind]}"/>',
            f'<text x="{_LEFT + width + 6:.1f}" y="{top + 13}">{figure:.1f} {escape(unit)}{broken}</text>',
        ]
    return "\n".join((*lines, "</svg>", ""))
