"""Draws one picture: JSON on standard input, JSON with the PNG on standard output. A process of its own.

Only `bot.adapters.pictures` starts it; nothing imports it, since the drawing library is large.
"""

from __future__ import annotations

import base64
import io
import json
import math
import sys
from typing import Any, Final

import numpy as np
from matplotlib import font_manager
from matplotlib.figure import Figure

EMOTIONS: Final = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
COLOURS: Final = ("#f9d648", "#9bd14f", "#3fa35c", "#46c6c9", "#5b8def", "#b07ad9", "#e2554f", "#f29a3f")
BACK, INK, FAINT = "#2b2d31", "#f2f3f5", "#80848e"
"""An own dark ground with light ink: readable whatever the theme around it."""
DPI: Final = 110


class Words:
    """Writes what the font can write, and numbers for the rest."""

    def __init__(self) -> None:
        self._font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
        self.legend: list[tuple[int, str]] = []

    def shown(self, text: str) -> str:
        """The text, or a number that the legend explains."""
        if all(character.isspace() or self._font.get_char_index(ord(character)) for character in text):
            return text.replace("$", r"\$")
        self.legend.append((len(self.legend) + 1, text))
        return f"({len(self.legend)})"


def wheels(wanted: dict[str, Any], words: Words) -> Figure:
    """One wheel beside the other."""
    many = wanted["wheels"]
    figure = Figure(figsize=(4.4 * len(many), 4.8), dpi=DPI, facecolor=BACK)
    for place, wheel in enumerate(many, start=1):
        axes: Any = figure.add_subplot(1, len(many), place, projection="polar", facecolor=BACK)
        angles = np.arange(8) * (2 * math.pi / 8)
        width = 2 * math.pi / 8 * 0.86
        axes.bar(angles, wheel["mood"], width=width, color=COLOURS, alpha=0.9, zorder=2)
        axes.bar(
            angles, wheel["temperament"], width=width, fill=False, edgecolor=INK, linewidth=1.4, zorder=3
        )
        axes.set_theta_zero_location("N")
        axes.set_theta_direction(-1)
        axes.set_ylim(0, 10)
        axes.set_yticks([2, 4, 6, 8, 10], [""] * 5)
        axes.set_xticks(angles, EMOTIONS, color=INK, fontsize=10)
        axes.grid(color=FAINT, alpha=0.35)
        axes.spines["polar"].set_color(FAINT)
        axes.set_title(words.shown(wheel["name"]), color=INK, fontsize=14, pad=16)
    figure.text(0.5, 0.015, "filled: now · outline: temperament", ha="center", color=FAINT, fontsize=9)
    figure.subplots_adjust(left=0.08, right=0.92, top=0.84, bottom=0.1, wspace=0.5)
    return figure


def timeline(wanted: dict[str, Any], words: Words) -> Figure:
    """A line for each feeling that ever stands out, smoothed; the strongest moments labelled."""
    felt = np.asarray(wanted["feelings"], dtype=float).reshape(-1, 8)
    figure = Figure(figsize=(9.6, 5.0), dpi=DPI, facecolor=BACK)
    axes = figure.add_subplot(facecolor=BACK)
    smooth = _smoothed(felt)
    turns = np.arange(1, len(felt) + 1)
    for at in np.argsort(-smooth.max(axis=0))[:5]:
        axes.plot(turns, smooth[:, at], color=COLOURS[at], linewidth=2, label=EMOTIONS[at])
    for number, (position, text) in enumerate(wanted["labels"]):
        peak = float(felt[position].max())
        low = 10.9 + 0.75 * (number % 3)
        axes.annotate(
            words.shown(text),
            (position + 1, peak),
            xytext=(position + 1, low),
            color=INK,
            fontsize=8,
            ha="left" if position < len(felt) / 2 else "right",
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.8},
        )
    axes.set_ylim(1, 13)
    axes.set_yticks([1, 4, 7, 10])
    axes.set_xlim(1, max(2, len(felt)))
    axes.tick_params(colors=FAINT)
    axes.grid(color=FAINT, alpha=0.25)
    for spine in axes.spines.values():
        spine.set_color(FAINT)
    axes.set_xlabel("turn", color=FAINT)
    axes.set_title(words.shown(wanted["title"]), color=INK, fontsize=13)
    axes.legend(facecolor=BACK, edgecolor=FAINT, labelcolor=INK, fontsize=9, loc="lower right", ncols=5)
    figure.tight_layout()
    return figure


def days(wanted: dict[str, Any], words: Words) -> Figure:
    """A bar for each day, its series one on the other."""
    figure = Figure(figsize=(9.6, 4.6), dpi=DPI, facecolor=BACK)
    axes = figure.add_subplot(facecolor=BACK)
    labels = wanted["labels"]
    below = np.zeros(len(labels))
    for number, (name, values) in enumerate(wanted["series"]):
        colour = COLOURS[(3 * number + 4) % len(COLOURS)]
        axes.bar(range(len(labels)), values, bottom=below, color=colour, label=words.shown(name))
        below = below + np.asarray(values, dtype=float)
    axes.set_xticks(range(0, len(labels), 3), labels[::3], fontsize=9)
    axes.set_xlim(-0.7, len(labels) - 0.3)
    axes.set_ylim(0, max(1.0, float(below.max(initial=0.0)) * 1.15))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.tick_params(colors=FAINT)
    axes.grid(axis="y", color=FAINT, alpha=0.25)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color(FAINT)
    axes.set_ylabel("tokens", color=FAINT)
    axes.set_title(words.shown(wanted["title"]), color=INK, fontsize=13)
    if wanted["series"]:
        axes.legend(facecolor=BACK, edgecolor=FAINT, labelcolor=INK, fontsize=9, loc="upper left", ncols=3)
    figure.tight_layout()
    return figure


def _smoothed(felt: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Each feeling averaged over its neighbours, more of them in a long scene."""
    reach = max(1, min(15, len(felt) // 25))
    kernel = np.hanning(2 * reach + 3)[1:-1]
    weight = np.convolve(np.ones(len(felt)), kernel, mode="full")[reach : reach + len(felt)]
    columns = [
        np.convolve(felt[:, at], kernel, mode="full")[reach : reach + len(felt)] / weight for at in range(8)
    ]
    return np.stack(columns, axis=1)


KINDS: Final = {"wheels": wheels, "timeline": timeline, "days": days}


def main() -> None:
    """Draw what was asked for."""
    wanted = json.load(sys.stdin)
    words = Words()
    figure = KINDS[wanted["kind"]](wanted, words)
    made = io.BytesIO()
    figure.savefig(made, format="png", facecolor=BACK)
    png = base64.b64encode(made.getvalue()).decode()
    json.dump({"png": png, "legend": words.legend}, sys.stdout)


if __name__ == "__main__":
    main()
