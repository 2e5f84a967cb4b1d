"""One way to speak HTTP: to a pinned address, with bounds, and with every failure told apart.

Above: executors. Below: the network contract and httpx, which is loaded when it is used. What
failed before the request was sent is definite, and so is every answer; silence after it is not.
A connection serves one call: what may be reached is decided for each.
Source: specification, sections 5 and 12.
"""

from __future__ import annotations

import re
import ssl
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from attr import define, field, frozen

from agentctl.effects.network import (
    NetworkPolicy,
    authorize,
    is_proxied,
    require_listed,
    system_resolver,
)
from agentctl.errors import EffectError, PolicyPreflight, PrerequisiteError
from agentctl.limits import READ_IDLE_SECONDS_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping

    import httpx

    from agentctl.effects.network import Resolver, Target

_FORBIDDEN_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "accept-encoding"}
    | {"te", "trailer", "proxy-authorization", "expect", "keep-alive"}
)


@frozen(kw_only=True, eq=False, repr=False)
class Post(Value):
    """One request; `cap_bytes` is what the answer may have."""

    target: Target
    headers: Mapping[str, str]
    content: bytes
    cap_bytes: int


@define(eq=False, repr=False)
class Answer:
    """An answer whose head is here; the body comes in pieces, up to the cap."""

    status: int
    headers: dict[str, str]
    _response: httpx.Response
    _cap_bytes: int
    _host: str

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body. Raises EffectError."""
        total = 0
        with _told_apart(self._host):
            async for chunk in self._response.aiter_raw():
                total += len(chunk)
                if total > self._cap_bytes:
                    message = f"the answer has more than {self._cap_bytes:,} bytes"
                    raise EffectError(message, code="output_too_large")
                yield chunk

    async def read(self) -> bytes:
        """Return the whole body. Raises EffectError."""
        async with aclosing(self.chunks()) as chunks:
            return b"".join([chunk async for chunk in chunks])


@frozen(kw_only=True, eq=False, repr=False)
class Transport(Value):
    """Makes calls under one network policy; `certificates` are a private authority's, as PEM."""

    policy: NetworkPolicy
    certificates: str | None = None
    resolver: Resolver = field(default=system_resolver)

    @asynccontextmanager
    async def post(self, post: Post) -> AsyncIterator[Answer]:
        """Send a request, and give its answer while the connection is open.

        Raises EffectError: `network_denied` and what happened before the request was sent are
        definite; `connection_lost` is ambiguous.
        """
        proxied = is_proxied(post.target, self.policy)
        addresses = await self._addresses(post.target, proxied=proxied)
        host = post.target.host
        async with self._client(proxied=proxied) as client:
            with _told_apart(host):
                response = await self._send(client, post, addresses)
            try:
                _require_plain(response, host)
                headers = {name.lower(): value for name, value in response.headers.items()}
                yield Answer(response.status_code, headers, response, post.cap_bytes, host)
            finally:
                await response.aclose()

    async def _addresses(self, target: Target, *, proxied: bool) -> tuple[str, ...]:
        """Return where the connection may go; a proxy looks names up by itself."""
        try:
            if proxied:
                require_listed(target, self.policy)
                return ()
            return await authorize(target, self.policy, self.resolver)
        except PolicyPreflight as refusal:
            raise EffectError(refusal.message, code="network_denied") from refusal
        except PrerequisiteError as error:
            raise EffectError(
                error.message, code="provider_unavailable", retryable=True
            ) from error

    async def _send(
        self, client: httpx.AsyncClient, post: Post, addresses: tuple[str, ...]
    ) -> httpx.Response:
        """Try one address after the other, as long as no connection came about."""
        import httpx  # late: only a call over the network pays for it

        urls = [post.target.pinned_url(one) for one in addresses] or [post.target.url]
        for index, url in enumerate(urls):
            request = client.build_request(
                "POST",
                url,
                headers={**post.headers, "host": post.target.authority},
                content=post.content,
                extensions={
                    "sni_hostname": post.target.host,
                    "timeout": self._timeouts(),
                },
            )
            try:
                return await client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if index + 1 == len(urls):
                    raise
        raise AssertionError("there is at least one address")

    def _timeouts(self) -> dict[str, float]:
        connect = self.policy.connect_seconds
        idle = float(READ_IDLE_SECONDS_MAX)
        return {"connect": connect, "pool": connect, "read": idle, "write": idle}

    def _client(self, *, proxied: bool) -> httpx.AsyncClient:
        import httpx  # late, as above

        return httpx.AsyncClient(
            verify=_context(self.certificates),
            trust_env=proxied,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=0),
        )


def safe_header(name: str, value: str) -> tuple[str, str]:
    """Return a configured header. Raises EffectError for one that may not be set."""
    lowered = name.lower()
    if lowered in _FORBIDDEN_HEADERS or not lowered.replace("-", "a").isalnum():
        raise EffectError(f"the header {name[:64]!r} may not be set", code="invalid_input")
    if not (value.isascii() and value.isprintable()):
        raise EffectError(
            f"the value of the header {lowered} has characters that no header may have",
            code="invalid_input",
        )
    return lowered, value


def _require_plain(response: httpx.Response, host: str) -> None:
    if 300 <= response.status_code < 400:
        raise EffectError(
            f"{host} answered {response.status_code}; redirects are not followed",
            code="network_denied",
        )
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise EffectError(
            f"{host} packed its answer, which was not asked for",
            code="invalid_provider_answer",
        )


@contextmanager
def _told_apart(host: str) -> Iterator[None]:
    """Turn httpx's errors into ours: before the request was sent, or after it."""
    import httpx  # late, as above

    try:
        yield
    except (
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.PoolTimeout,
        httpx.ProxyError,
    ) as error:
        message = f"no connection to {host}: {_words(error)}"
        raise EffectError(message, code="provider_unavailable", retryable=True) from error
    except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        message = f"the request to {host} cannot be sent: {_words(error)}"
        raise EffectError(message, code="invalid_input") from error
    except httpx.HTTPError as error:
        message = f"the connection to {host} was lost: {_words(error)}"
        raise EffectError(message, code="connection_lost", ambiguous=True) from error


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


_CONTEXTS: dict[str | None, ssl.SSLContext] = {}
_BLOCK = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII
)


def _context(certificates: str | None) -> ssl.SSLContext:
    """Return the trust in public authorities, or in the given ones alone; made once."""
    if certificates not in _CONTEXTS:
        _CONTEXTS[certificates] = (
            _public_authorities() if certificates is None else _private_authority(certificates)
        )
    return _CONTEXTS[certificates]


def _public_authorities() -> ssl.SSLContext:
    import httpx  # late, as above

    return httpx.create_ssl_context(trust_env=False)


def _private_authority(certificates: str) -> ssl.SSLContext:
    """Trust certificates alone: a key or anything else beside them is a mistake."""
    if not certificates.strip() or _BLOCK.sub("", certificates).strip():
        raise EffectError(
            "policy.network.customCa holds something else than certificates in PEM",
            code="invalid_input",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=certificates)
    except ssl.SSLError as error:
        message = f"policy.network.customCa cannot be read: {error.reason}"
        raise EffectError(message, code="invalid_input") from error
    return context
