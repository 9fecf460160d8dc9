"""Takes what turns felt like out of the stored moods, when the turns change or go."""

from __future__ import annotations

import json
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.tables import moods, personas, turns
from bot.core.mood import from_json, to_json
from bot.core.mood_steps import without


def take_back_feelings(connection: Connection, turn_ids: Collection[int]) -> None:
    """The moods of the turns' scenes become what they would have been without these turns, as far back as a
    mood knows its steps. One that cannot be read stays as it is."""
    scenes = sa.select(turns.c.scene_id).where(turns.c.id.in_(turn_ids))
    which = (
        sa.select(moods.c.scene_id, moods.c.persona_id, moods.c.mood, personas.c.temperament)
        .join_from(moods, personas)
        .where(moods.c.scene_id.in_(scenes))
    )
    for row in connection.execute(which).all():
        try:
            mood = from_json(json.loads(row.mood))
        except ValueError:
            continue
        left = without(mood, turn_ids, temperament=row.temperament)
        if left is not mood:
            own = sa.and_(moods.c.scene_id == row.scene_id, moods.c.persona_id == row.persona_id)
            connection.execute(sa.update(moods).where(own).values(mood=json.dumps(to_json(left))))
