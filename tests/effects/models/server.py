"""A real HTTP server on the loopback that says what a test tells it to."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from attr import define, field, frozen

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator


@frozen(kw_only=True)
class Reply:
    """One answer; `cut` says when the connection breaks: before, during or after it."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(factory=dict)
    cut: str = ""
    pieces: tuple[bytes, ...] = ()
    before_piece: Callable[[int], None] | None = None


@frozen
class Asked:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any


@define
class ScriptedServer:
    """Gives its replies in order, and the last one again and again."""

    url: str
    replies: list[Reply]
    asked: list[Asked] = field(factory=list)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.url.rpartition(":")[2])

    def next_reply(self) -> Reply:
        """Return the reply to the latest request."""
        return self.replies[min(len(self.asked), len(self.replies)) - 1]


def json_reply(body: Any, status: int = 200, **headers: str) -> Reply:
    """Return a reply with a JSON body; `retry_after` becomes a header of that name."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, body=json.dumps(body).encode(), headers=named)


def stream_reply(*events: Any, **more: Any) -> Reply:
    """Return a stream; an event is a JSON value, or text as it is."""
    pieces = tuple(
        f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n".encode() for one in events
    )
    return Reply(content_type="text/event-stream", pieces=pieces, **more)


@contextmanager
def serving(*replies: Reply, context: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """Run a server for the time of a test."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
    scripted = ScriptedServer(f"http://127.0.0.1:{server.server_port}", list(replies))
    server.scripted = scripted  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        scripted: ScriptedServer = self.server.scripted  # type: ignore[attr-defined]
        data = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        scripted.asked.append(Asked(self.path, headers, json.loads(data)))
        reply = scripted.next_reply()
        self.close_connection = True
        try:
            self._answer(reply)
        except OSError:
            return

    def _answer(self, reply: Reply) -> None:
        if reply.cut == "before":
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", reply.content_type)
        if reply.pieces:
            self._stream(reply)
            return
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        whole = len(reply.body) // 2 if reply.cut == "during" else len(reply.body)
        self.wfile.write(reply.body[:whole])
        self.wfile.flush()

    def _stream(self, reply: Reply) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        count = len(reply.pieces) // 2 if reply.cut == "during" else len(reply.pieces)
        for index, piece in enumerate(reply.pieces[:count]):
            if reply.before_piece is not None:
                reply.before_piece(index)
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        if not reply.cut:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
