"""How well a head reads feeling: macro-F1 and mean AUC on lines in XED's form."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._encoding import Encoding, say
from bot.adapters.emotion_head import EmotionHead
from bot.adapters.seed_head import seeds
from bot.core.emotion_seeds import fit_seeds
from bot.core.labelled_lines import LabelledLine, read_lines, targets
from bot.train_emotion import KEPT_OUT, measure


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """Return `macro_f1` (at the thresholds stored with the head), `mean_auc` and `n`, the lines judged.

    `--kept-out` judges only lines that the training's split by text keeps apart, for files that it saw.
    `--seeds` judges the head that is fitted from the seed sentences for an encoder without its own.
    `--by-file` gives the figures of each file too, under its name.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks emotion", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, help="files in XED's form: text, tab, labels")
    parser.add_argument("--kept-out", action="store_true", help="only lines that training keeps apart")
    parser.add_argument("--model", default="bundled", help="the embedding model (EMBEDDING_MODEL)")
    parser.add_argument("--seeds", action="store_true", help="a head from the seed sentences")
    parser.add_argument("--by-file", action="store_true", help="the figures of each file too")
    chosen = parser.parse_args(arguments)
    files = {file.stem: _read(file, kept_out=chosen.kept_out) for file in chosen.data}
    if not any(files.values()):
        parser.error("the files hold no labelled lines")
    with Encoding(chosen.model) as encoding:
        head = _seeded(encoding) if chosen.seeds else EmotionHead.load(encoding.encoder.id)
        if head is None:
            parser.error(f"there is no emotion head for {encoding.encoder.id}")
        vectors = {
            name: encoding.passages([line.text for line in lines], name) for name, lines in files.items()
        }
    truth = {name: targets(lines) for name, lines in files.items()}
    whole = measure(head, np.concatenate(list(vectors.values())), np.concatenate(list(truth.values())))
    figures: dict[str, Any] = _figures(whole)
    if chosen.by_file:
        figures |= {name: _figures(measure(head, vectors[name], one)) for name, one in truth.items()}
    return figures


def _figures(measured: dict[str, float]) -> dict[str, float | int]:
    return {**measured, "n": int(measured["n"])}


def _seeded(encoding: Encoding) -> EmotionHead:
    languages, lines = seeds()
    fit = fit_seeds(encoding.passages([line.text for line in lines], "seeds"), lines, languages)
    say(f"the seeds of {', '.join(fit.languages)} are understood")
    return EmotionHead("seeds", fit.weights.rounded(), fit.thresholds)


def _read(file: Path, *, kept_out: bool) -> list[LabelledLine]:
    with file.open(encoding="utf-8") as opened:
        found = [line for line in read_lines(opened) if not kept_out or line.part == KEPT_OUT]
    say(f"{file.name}: {len(found)} lines")
    return found
