"""The picture of a card file: decoded within limits, stripped of everything but its pixels, made small."""

from __future__ import annotations

import io
import math
import warnings
from typing import Final

from PIL import Image

LARGEST_PIXELS: Final = 25_000_000
LARGEST_BYTES: Final = 256 * 1024
LONGEST_SIDE: Final = 1024
_SMALLER: Final = 0.95


class BadPicture(Exception):
    """What is wrong, in a sentence for people."""


def card_picture(raw: bytes) -> bytes:
    """Return the first frame as a PNG of at most 256 KiB, its shape kept and nothing but pixels in it.

    The result put in again comes out the same. Blocks, so call it in a thread. Raises BadPicture.
    """
    image = _decoded(raw)
    if max(image.size) > LONGEST_SIDE:
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    written = _png(image)
    while len(written) > LARGEST_BYTES:
        share = min(_SMALLER, math.sqrt(LARGEST_BYTES / len(written)) * 0.98)
        size = (max(1, int(image.width * share)), max(1, int(image.height * share)))
        image = image.resize(size, Image.Resampling.LANCZOS)
        written = _png(image)
    return written


def _decoded(raw: bytes) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(raw)) as opened:
                pixels = opened.width * opened.height
                if pixels > LARGEST_PIXELS:
                    raise BadPicture(f"it has {pixels:,} pixels, and the limit is {LARGEST_PIXELS:,}")
                solid = opened.mode in ("RGB", "L", "1", "I;16") and "transparency" not in opened.info
                return opened.convert("RGB" if solid else "RGBA")
    except BadPicture:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as problem:
        raise BadPicture(f"it has more pixels than the limit of {LARGEST_PIXELS:,}") from problem
    except Exception as problem:  # Pillow's plugins raise nearly anything over broken files
        raise BadPicture("it is damaged") from problem


def _png(image: Image.Image) -> bytes:
    target = io.BytesIO()
    image.save(target, "PNG", compress_level=6)
    return target.getvalue()
