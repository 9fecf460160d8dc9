"""How well the shipped head reads feeling: macro-F1 and mean AUC on lines in XED's form."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks._encoding import Encoding, say
from bot.adapters.emotion_head import EmotionHead
from bot.core.labelled_lines import LabelledLine, read_lines, targets
from bot.train_emotion import KEPT_OUT, measure


def run(arguments: Sequence[str]) -> dict[str, float | int]:
    """Return `macro_f1` (at the thresholds stored with the head), `mean_auc` and `n`, the lines judged.

    `--kept-out` judges only lines that the training's split by text keeps apart, for files that it saw.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks emotion", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, help="files in XED's form: text, tab, labels")
    parser.add_argument("--kept-out", action="store_true", help="only lines that training keeps apart")
    parser.add_argument("--model", default="bundled", help="the embedding model (EMBEDDING_MODEL)")
    chosen = parser.parse_args(arguments)
    lines = _read(chosen.data)
    if chosen.kept_out:
        lines = [line for line in lines if line.part == KEPT_OUT]
    if not lines:
        parser.error("the files hold no labelled lines")
    with Encoding(chosen.model) as encoding:
        head = EmotionHead.load(encoding.encoder.id)
        if head is None:
            parser.error(f"there is no emotion head for {encoding.encoder.id}")
        vectors = encoding.passages([line.text for line in lines], "lines")
    figures = measure(head, vectors, targets(lines))
    return {"macro_f1": figures["macro_f1"], "mean_auc": figures["mean_auc"], "n": len(lines)}


def _read(files: Sequence[Path]) -> list[LabelledLine]:
    lines = []
    for file in files:
        with file.open(encoding="utf-8") as opened:
            found = list(read_lines(opened))
        say(f"{file.name}: {len(found)} lines")
        lines += found
    return lines
