"""Settings that moderators change: for the guild, or overridden for one place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bot.core.options import OPTIONS
from bot.core.stores import SettingsStore
from bot.errors import UserFacing

_PROXIES = "proxies:"


@dataclass(frozen=True, slots=True)
class OptionValue:
    """A setting as it holds somewhere, its text as a moderator would type it, and where it comes from."""

    value: object
    text: str
    source: str
    """default, guild or place."""


Changed = Callable[[int, int, str, object], None]
"""Space id, place id (0: the whole space), key and the value that holds there now."""


class Options:
    """Keeps the stored texts of every space in memory, so that guards can look without waiting."""

    def __init__(self, *, store: SettingsStore) -> None:
        self._store = store
        self._spaces: dict[int, dict[tuple[int, str], str]] = {}
        self._known: dict[int, dict[int, Mapping[str, object]]] = {}
        """Values by space and place, as they were last asked for."""
        self._proxied: dict[int, bool] = {}
        self._listeners: list[Changed] = []
        self._reading = asyncio.Lock()
        self._forgets = 0

    def on_change(self, listener: Changed) -> None:
        """Call this after every change of a setting."""
        self._listeners.append(listener)

    def places_with(self, space_id: int, key: str) -> list[int]:
        """Where a setting of a space was changed: places, and 0 for the whole space."""
        return [place_id for place_id, known in self._spaces.get(space_id, {}) if known == key]

    async def load(self, space_id: int) -> None:
        """Read a space's settings once. Who asks meanwhile waits for the same reading: a second one could end
        after a setting was changed, and put the old ones in its place."""
        if space_id in self._spaces:
            return
        async with self._reading:
            while space_id not in self._spaces:
                forgets = self._forgets
                proxied = await self._store.value(_proxy_key(space_id)) is not None
                stored = await self._store.options(space_id)
                if forgets == self._forgets:
                    self._proxied[space_id] = proxied or self.proxies_seen(space_id)
                    self._spaces[space_id] = stored
                    self._known.pop(space_id, None)

    async def load_all(self, space_ids: Collection[int]) -> None:
        """Read the settings of all these spaces, for start-up."""
        async with self._reading:
            proxied = await self._store.values(_PROXIES)
            stored = await self._store.all_options()
            for space_id in space_ids:
                self._proxied[space_id] = _proxy_key(space_id) in proxied
                self._spaces[space_id] = stored.get(space_id, {})
            self._known.clear()

    def forget(self, space_id: int) -> None:
        """The space's settings are gone, or must be read again."""
        self._forgets += 1
        self._known.pop(space_id, None)
        self._spaces.pop(space_id, None)
        self._proxied.pop(space_id, None)

    def proxies_seen(self, space_id: int) -> bool:
        """Whether a proxy app ever posted in this space: its members' messages may be replaced."""
        return self._proxied.get(space_id, False)

    async def saw_proxy(self, space_id: int) -> None:
        """Remember that one did."""
        if not self.proxies_seen(space_id):
            self._proxied[space_id] = True
            await self._store.set_value(_proxy_key(space_id), "seen")

    def known(self, space_id: int, place_id: int | None = None) -> Mapping[str, object]:
        """The values that hold in a place, by key; defaults for a space that was not loaded yet."""
        places = self._known.setdefault(space_id, {})
        found = places.get(place_id or 0)
        if found is None:
            resolved = self._resolve(space_id, place_id)
            values = {key: option.value for key, option in resolved.items()}
            found = places[place_id or 0] = MappingProxyType(values)
        return found

    async def effective(self, space_id: int, place_id: int | None = None) -> Mapping[str, OptionValue]:
        """Every setting with its source."""
        await self.load(space_id)
        return self._resolve(space_id, place_id)

    async def set(self, space_id: int, place_id: int, key: str, text: str) -> object:
        """Store a setting (`place_id` 0: for the whole guild) and return its value. "default" removes it."""
        option = OPTIONS.get(key)
        if option is None:
            raise UserFacing(f"There is no setting `{key}`. Settings: {', '.join(sorted(OPTIONS))}.")
        await self.load(space_id)
        stored = self._spaces[space_id]
        if text.strip().casefold() == "default":
            await self._store.set_option(space_id, place_id, key, None)
            stored.pop((place_id, key), None)
            value = self._resolve(space_id, place_id or None)[key].value
            self._tell(space_id, place_id, key, value)
            return value
        if place_id and option.whole_server:
            raise UserFacing(f"`{key}` holds for the whole server. Please set it without `here`.")
        try:
            value = option.parse(text)
        except ValueError as problem:
            raise UserFacing(
                f"`{key}` cannot be `{text[:80]}`: {problem} Example: `{option.example}`."
            ) from problem
        await self._store.set_option(space_id, place_id, key, text.strip())
        stored[(place_id, key)] = text.strip()
        self._tell(space_id, place_id, key, value)
        return value

    def _tell(self, space_id: int, place_id: int, key: str, value: object) -> None:
        self._known.pop(space_id, None)
        for listener in self._listeners:
            listener(space_id, place_id, key, value)

    def _resolve(self, space_id: int, place_id: int | None) -> dict[str, OptionValue]:
        stored = self._spaces.get(space_id, {})
        found: dict[str, OptionValue] = {}
        for key, option in OPTIONS.items():
            text, source = stored.get((place_id or 0, key)), "place"
            if text is None or not place_id:
                text, source = stored.get((0, key)), "guild"
            try:
                if text is not None:
                    found[key] = OptionValue(option.parse(text), text, source)
                    continue
            except ValueError:
                pass  # a value of an older release that is no longer allowed: the default holds
            found[key] = OptionValue(
                option.default, option.example if option.default is None else "", "default"
            )
        return found


def _proxy_key(space_id: int) -> str:
    return f"{_PROXIES}{space_id}"
