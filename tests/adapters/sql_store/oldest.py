"""A database as the first release left it, and copies of the migrations with further ones."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from bot.adapters.sql_store import upgrade
from bot.adapters.sql_store.migrate import MIGRATIONS

OLDEST_ROWS = """
INSERT INTO personas (id, space_id, name, folded_name, temperament, former_names, card)
    VALUES (1, 9, 'Mira', 'mira', zeroblob(32), '[]', '{"description": "An innkeeper."}');
INSERT INTO audiences (id, members) VALUES (1, '1');
INSERT INTO audience_members (audience_id, persona_id) VALUES (1, 1);
INSERT INTO places (id, guild_id, space_id, name, seen_until) VALUES (500, 9, 9, 'tavern', 11);
INSERT INTO stories (id, place_id, name, folded_name) VALUES (1, 500, 'Arrival', 'arrival');
INSERT INTO scenes (id, space_id, place_id, story_id, active, started_at, name)
    VALUES (1, 9, 500, 1, 1, '2026-01-01 00:00:00.000000', 'Arrival');
INSERT INTO cast_members (scene_id, persona_id, position) VALUES (1, 1, 1);
INSERT INTO turns (id, space_id, place_id, scene_id, story_id, owner_id, audience_id, kind, created_at,
                   speaker, text, covered_by)
    VALUES (1, 9, 500, 1, 1, 77, 1, 'ic', '2026-01-01 00:00:01.000000', 'Ana', 'Good evening.', 1);
INSERT INTO turn_messages (message_id, turn_id) VALUES (11, 1);
INSERT INTO memories (id, kind, space_id, place_id, story_id, scene_id, turn_id, audience_id, created_at)
    VALUES (1, 'turn', 9, 500, 1, 1, 1, 1, '2026-01-01 00:00:01.000000');
INSERT INTO memories (id, kind, space_id, place_id, story_id, scene_id, audience_id, created_at, text)
    VALUES (2, 'fact', 9, 500, 1, 1, 1, '2026-01-01 00:00:02.000000', 'Ana is polite.');
INSERT INTO memory_sources (memory_id, turn_id) VALUES (2, 1);
INSERT INTO memory_owners (memory_id, owner_id) VALUES (2, 77);
INSERT INTO scratchpad_revisions (id, scene_id, number, created_at)
    VALUES (1, 1, 1, '2026-01-01 00:00:02.000000');
INSERT INTO scratchpad_lines (id, revision_id, position, section, text) VALUES (1, 1, 0, 'people', 'Ana.');
INSERT INTO line_sources (line_id, turn_id, position) VALUES (1, 1, 0);
"""


def oldest(path: Path, tmp_path: Path) -> None:
    """A database as the first release left it, with child rows."""
    script = scripts(tmp_path / "oldest")
    for each in (script / "versions").glob("*.py"):
        if not each.name.startswith("0001"):
            each.unlink()
    upgrade(path, script)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys=ON")
    connection.executescript(OLDEST_ROWS)
    connection.close()


def scripts(folder: Path, **versions: str) -> Path:
    """A copy of the migrations with further ones."""
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    head = max(each.name for each in (folder / "versions").glob("0*.py"))[:4]
    for name, source in versions.items():
        (folder / "versions" / f"{name}.py").write_text(source.replace('"HEAD"', f'"{head}"'))
    return folder
