"""Column types that SQLite lacks: aware UTC times and emotion vectors."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from bot.core.vectors import Vector

BigKey = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""A generated 64-bit key; SQLite numbers rows by itself only where the type is spelled INTEGER."""


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored as naive UTC. Naive times are refused: nobody knows what they mean."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class EmotionBlob(TypeDecorator[Vector]):
    """Eight little-endian float32 numbers; NULL stands for an unknown emotion."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Vector | None, dialect: Dialect) -> bytes | None:
        if value is None:
            return None
        numbers = np.asarray(value, dtype="<f4")
        if numbers.shape != (8,):
            raise ValueError(f"an emotion vector has eight numbers, not shape {numbers.shape}")
        return numbers.tobytes()

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Vector | None:
        return None if value is None else np.frombuffer(value, dtype="<f4").astype(np.float32)
