"""The gateway: websocket sessions that identify, beat, resume and receive events, with faults on demand."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

from . import intents
from .payloads import guild_create_json, own_user_json
from .wire import compressor_for

if TYPE_CHECKING:
    from .server import DiscordServer

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, REQUEST_MEMBERS = 0, 1, 2, 6, 7, 8
INVALID_SESSION, HELLO, HEARTBEAT_ACK = 9, 10, 11
SESSION_ENDING_CODES = frozenset({1000, 1001, 4007, 4009})
REPLAY_LIMIT = FRAMES_KEPT = 20_000


@dataclass(frozen=True)
class Frame:
    """One gateway message in either direction; `outgoing` is from the server to the bot."""

    outgoing: bool
    op: int
    event: str | None
    sequence: int | None
    data: Any
    at: float


class Session:
    """What survives a connection: intents, shard, sequence number and the events for a resume."""

    def __init__(self, identify: dict[str, Any]) -> None:
        """Start a session from an IDENTIFY payload."""
        self.id = secrets.token_hex(16)
        self.intents = int(identify.get("intents", 0))
        shard = identify.get("shard") or [0, 1]
        self.shard = (int(shard[0]), int(shard[1]))
        self.sequence = 0
        self.replay: deque[tuple[int, str]] = deque(maxlen=REPLAY_LIMIT)
        self.connection: Connection | None = None
        self.resumable = True

    def serves(self, guild_id: int | None) -> bool:
        """Say whether this shard gets the events of a guild, or of direct messages (None)."""
        return self.shard[0] == (0 if guild_id is None else (guild_id >> 22) % self.shard[1])


class Connection:
    """One websocket with its compression context and its ordered queue of frames to send."""

    def __init__(self, socket: web.WebSocketResponse, gateway: Gateway, compress: str) -> None:
        """Bind the parts; `compress` is the query parameter of the connection."""
        self.socket = socket
        self.compress = compress
        self.session: Session | None = None
        self.closed_here = False
        self._gateway = gateway
        self._pack = compressor_for(compress)
        self._queue: asyncio.Queue[str | asyncio.Future[None]] = asyncio.Queue()

    def send(self, text: str) -> None:
        """Queue one frame."""
        self._queue.put_nowait(text)

    async def flushed(self) -> None:
        """Return when everything queued so far is on the wire."""
        mark: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(mark)
        await mark

    async def write(self) -> None:
        """Send queued frames until cancelled."""
        while True:
            item = await self._queue.get()
            await self._gateway.open_gate.wait()
            if isinstance(item, asyncio.Future):
                if not item.done():
                    item.set_result(None)
            elif self._pack is None:
                await self.socket.send_str(item)
            else:
                await self.socket.send_bytes(self._pack(item.encode()))


class Gateway:
    """All sessions of the loopback Discord, its log of frames and its fault knobs."""

    def __init__(self, server: DiscordServer, *, heartbeat_interval: float) -> None:
        """Serve `server`; the heartbeat interval is told to the client, in seconds."""
        self._server = server
        self.heartbeat_interval = heartbeat_interval
        self.sessions: dict[str, Session] = {}
        self.connections: set[Connection] = set()
        self.frames: deque[Frame] = deque(maxlen=FRAMES_KEPT)
        self.heartbeats: list[float] = []
        self.identifies: list[dict[str, Any]] = []
        self.resumes = 0
        self.open_gate = asyncio.Event()
        self.open_gate.set()
        self.close_before_hello = 0
        self.drop_heartbeat_acks = False
        self.duplicate_next = 0
        self.replay_extra = 0
        self.privileged_intents = intents.PRIVILEGED

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one websocket connection of a client from HELLO to its close."""
        socket = web.WebSocketResponse(compress=False, autoclose=True, timeout=1.0)
        await socket.prepare(request)
        if self.close_before_hello > 0:
            self.close_before_hello -= 1
            await socket.close(code=1001)
            return socket
        connection = Connection(socket, self, request.query.get("compress", ""))
        self.connections.add(connection)
        writer = asyncio.create_task(connection.write(), name="loopback-gateway-writer")
        try:
            self._send_op(connection, HELLO, {"heartbeat_interval": int(self.heartbeat_interval * 1000)})
            async for incoming in socket:
                if incoming.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    await self._receive(connection, json.loads(incoming.data))
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self._detach(connection)
        return socket

    def _detach(self, connection: Connection) -> None:
        self.connections.discard(connection)
        session = connection.session
        if session is not None and session.connection is connection:
            session.connection = None
            left = not connection.closed_here and connection.socket.close_code in SESSION_ENDING_CODES
            if left or not session.resumable:
                self.sessions.pop(session.id, None)
        self._server.changed.notify()

    async def _receive(self, connection: Connection, frame: dict[str, Any]) -> None:
        op, data = frame.get("op"), frame.get("d")
        self._log(False, int(op or 0), None, None, data)
        if op == HEARTBEAT:
            self.heartbeats.append(time.monotonic())
            if not self.drop_heartbeat_acks:
                self._send_op(connection, HEARTBEAT_ACK, None)
        elif op == IDENTIFY:
            await self._identify(connection, data or {})
        elif op == RESUME:
            await self._resume(connection, data or {})
        elif op == REQUEST_MEMBERS and connection.session is not None:
            self._send_members(connection.session, data or {})
        self._server.changed.notify()

    async def _identify(self, connection: Connection, data: dict[str, Any]) -> None:
        if data.get("token") != self._server.token:
            await connection.socket.close(code=4004, message=b"Authentication failed.")
            return
        if int(data.get("intents", 0)) & intents.PRIVILEGED & ~self.privileged_intents:
            await connection.socket.close(code=4014, message=b"Disallowed intent(s).")
            return
        session = Session(data)
        self._forget_stale(session.shard)
        self.identifies.append(data)
        self.sessions[session.id] = session
        session.connection = connection
        connection.session = session
        world = self._server.world
        guilds = [guild for guild in world.bot_guilds() if session.serves(guild.id)]
        self._push(session, "READY", self._ready(session, [guild.id for guild in guilds]))
        everyone = bool(session.intents & intents.GUILD_MEMBERS)
        for guild in guilds if session.intents & intents.GUILDS else []:
            payload = guild_create_json(
                guild,
                application_id=self._server.application_id,
                bot_id=self._server.bot_user_id,
                all_members=everyone,
            )
            self._push(session, "GUILD_CREATE", payload)

    def _ready(self, session: Session, guild_ids: list[int]) -> dict[str, Any]:
        return {
            "v": 10,
            "user": own_user_json(self._server.world.bot),
            "guilds": [{"id": str(guild_id), "unavailable": True} for guild_id in guild_ids],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self._server.gateway_url,
            "shard": list(session.shard),
            "application": {"id": str(self._server.application_id), "flags": 1 << 18},
            "private_channels": [],
            "user_settings": {},
            "relationships": [],
            "presences": [],
            "geo_ordered_rtc_regions": [],
            "_trace": ["loopback"],
        }

    def _forget_stale(self, shard: tuple[int, int]) -> None:
        stale = [item for item in self.sessions.values() if item.connection is None and item.shard == shard]
        for session in stale:
            del self.sessions[session.id]

    async def _resume(self, connection: Connection, data: dict[str, Any]) -> None:
        session = self.sessions.get(str(data.get("session_id")))
        seen = int(data.get("seq") or 0)
        lost = (
            session is None or not session.resumable or (session.replay and session.replay[0][0] > seen + 1)
        )
        if session is None or lost or data.get("token") != self._server.token:
            self._send_op(connection, INVALID_SESSION, False)
            return
        self.resumes += 1
        session.connection = connection
        connection.session = session
        for sequence, text in list(session.replay):
            if sequence > seen - self.replay_extra:
                connection.send(text)
        self._push(session, "RESUMED", {"_trace": ["loopback"]})

    def dispatch(
        self,
        event: str,
        payload: dict[str, Any] | Callable[[Session], dict[str, Any]],
        *,
        guild_id: int | None = None,
        members_only: bool = False,
    ) -> None:
        """Send an event to every session whose shard and intents want it; also into its replay buffer.

        `members_only` restricts it to sessions with the members intent.
        """
        guild = self._server.world.guilds.get(guild_id or 0)
        if guild is not None and event != "GUILD_DELETE" and self._server.bot_user_id not in guild.members:
            return
        copies = 1
        if self.duplicate_next > 0:
            self.duplicate_next -= 1
            copies = 2
        for session in list(self.sessions.values()):
            if members_only and not session.intents & intents.GUILD_MEMBERS:
                continue
            if session.serves(guild_id) and intents.wants(session.intents, event, guild_id):
                for _ in range(copies):
                    self._push(session, event, payload(session) if callable(payload) else payload)

    def _push(self, session: Session, event: str, data: dict[str, Any]) -> None:
        session.sequence += 1
        text = json.dumps({"op": DISPATCH, "t": event, "s": session.sequence, "d": data})
        session.replay.append((session.sequence, text))
        self._log(True, DISPATCH, event, session.sequence, data)
        if session.connection is not None:
            session.connection.send(text)

    def _send_op(self, connection: Connection, op: int, data: Any) -> None:
        self._log(True, op, None, None, data)
        connection.send(json.dumps({"op": op, "d": data, "s": None, "t": None}))

    def _log(self, outgoing: bool, op: int, event: str | None, sequence: int | None, data: Any) -> None:
        self.frames.append(Frame(outgoing, op, event, sequence, data, time.monotonic()))

    def _send_members(self, session: Session, data: dict[str, Any]) -> None:
        guild = self._server.world.guilds.get(int(data.get("guild_id", 0)))
        if guild is None:
            return
        for chunk in intents.member_chunks(guild, data):
            self._push(session, "GUILD_MEMBERS_CHUNK", chunk)

    async def close(self, code: int = 4000, *, resumable: bool | None = None) -> None:
        """Close every connection with `code`; the sessions can be resumed unless the code says otherwise."""
        keep = code not in SESSION_ENDING_CODES if resumable is None else resumable
        for connection in list(self.connections):
            if connection.session is not None:
                connection.session.resumable = keep
            connection.closed_here = True
            await connection.socket.close(code=code)

    async def drop(self) -> None:
        """Cut every connection without a close frame, as a broken network does."""
        for connection in list(self.connections):
            transport = connection.socket._req.transport if connection.socket._req is not None else None
            if transport is not None:
                transport.abort()

    def reconnect(self) -> None:
        """Ask every client to reconnect and resume (op 7)."""
        for connection in self.connections:
            self._send_op(connection, RECONNECT, None)

    def invalid_session(self, *, resumable: bool = False) -> None:
        """Tell every client that its session is invalid (op 9); with False the missed events are lost."""
        for connection in self.connections:
            if connection.session is not None and not resumable:
                connection.session.resumable = False
            self._send_op(connection, INVALID_SESSION, resumable)

    def request_heartbeat(self) -> None:
        """Ask every client for a heartbeat now (op 1)."""
        for connection in self.connections:
            self._send_op(connection, HEARTBEAT, None)

    def pause(self) -> None:
        """Hold back every frame until `resume`, as a slow network does; REST goes on."""
        self.open_gate.clear()

    def resume(self) -> None:
        """Let held frames go."""
        self.open_gate.set()

    async def flushed(self) -> None:
        """Return when every queued frame is on the wire."""
        for connection in list(self.connections):
            await connection.flushed()
