"""Asks a model: resolves the credential, sends one request, and reads the answer or the stream.

Above: the registry. Below: an adapter, which knows the protocol, and the transport. Nothing is
tried twice here: whether a failure is worth a retry is said in the error, and decided above.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from attr import field, frozen

from agentctl.effects.models.adapter import Progress
from agentctl.effects.models.contract import ModelRequest, checked
from agentctl.effects.models.failures import failure_of_answer
from agentctl.effects.models.reading import parse_object
from agentctl.effects.models.secret_values import with_secret_values
from agentctl.effects.models.sse import EventDecoder
from agentctl.effects.models.transport import Post, Transport, safe_header
from agentctl.effects.network import NetworkPolicy, parse_url, require_listed, system_resolver
from agentctl.errors import EffectError, PolicyPreflight
from agentctl.jsonvalue import canonical
from agentctl.limits import PROVIDER_JSON_BYTES_MAX, PROVIDER_STREAM_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.effects.models.adapter import Adapter, Fold, HttpCall
    from agentctl.effects.models.contract import ModelResult
    from agentctl.effects.models.transport import Answer
    from agentctl.effects.network import Resolver, Target
    from agentctl.engine.ports import EffectContext, EffectRequest
    from agentctl.engine.records import EffectRecord
    from agentctl.jsonvalue import JsonObject, JsonValue
    from agentctl.providers import ProviderFacts

_AGENT = "agentctl"
_EVENTS = "text/event-stream"
# A provider or gateway that knows the header answers a repeated call from its memory.
_KEY_HEADER = "idempotency-key"


@frozen(eq=False, repr=False)
class ModelExecutor(Value):
    """`model.KIND`: one turn of a model, over the network."""

    adapter: Adapter
    resolver: Resolver = field(default=system_resolver)

    def preflight(self, request: EffectRequest, definitions: JsonObject) -> None:
        """Refuse a provider that the policy does not let be reached. Raises EffectError."""
        body = cast("JsonObject", request.input)
        provider = _provider(definitions, cast("str", body["provider"]))
        try:
            target = parse_url(base_url(self.adapter.facts, provider))
            require_listed(target, NetworkPolicy.from_definitions(definitions))
        except PolicyPreflight as refusal:
            raise EffectError(refusal.message, code="network_denied") from refusal

    async def execute(self, effect: EffectRecord, context: EffectContext) -> JsonValue:
        """Return the contract's result. Raises EffectError, and SecretMissing."""
        definitions = context.definitions
        body = await with_secret_values(cast("JsonObject", effect.input), context)
        request = ModelRequest.from_json(
            body,
            cast("JsonObject", definitions.get("tools") or {}),
            _rendered(definitions, self.adapter.facts.kind),
        )
        provider = _provider(definitions, request.provider)
        call = self.adapter.call(request, cast("str | None", provider.get("apiVersion")))
        headers = {
            **await self._headers(call, provider, context),
            # Last, so that no configured header takes its place.
            _KEY_HEADER: effect.idempotency_key,
        }
        policy = NetworkPolicy.from_definitions(definitions)
        authority = await context.secrets.resolve(policy.custom_ca) if policy.custom_ca else None
        cap = PROVIDER_STREAM_BYTES_MAX if request.stream else PROVIDER_JSON_BYTES_MAX
        post = Post(
            target=self._target(call, provider),
            headers=headers,
            content=canonical(call.body).encode("utf-8", "replace"),
            cap_bytes=policy.response_bytes(cap),
        )
        transport = Transport(policy=policy, certificates=authority, resolver=self.resolver)
        async with transport.post(post) as answer:
            body = await self._body(answer, request, context)
        result = checked(self.adapter.result(body, request), request)
        if request.stream:
            await _tell_end(result, context)
        return result.to_json()

    def _target(self, call: HttpCall, provider: JsonObject) -> Target:
        url = joined_url(base_url(self.adapter.facts, provider), call)
        try:
            return parse_url(url)
        except PolicyPreflight as refusal:
            raise EffectError(refusal.message, code="network_denied") from refusal

    async def _headers(
        self, call: HttpCall, provider: JsonObject, context: EffectContext
    ) -> dict[str, str]:
        """Return the headers; those of the protocol win over configured ones."""
        headers: dict[str, str] = {"user-agent": _AGENT}
        configured = cast("dict[str, JsonObject]", provider.get("headers") or {})
        for name, reference in configured.items():
            lowered, value = safe_header(name, await context.secrets.resolve(reference))
            headers[lowered] = value
        key = await self._key(provider, context)
        own = {**call.headers, **(self.adapter.authentication(key) if key else {})}
        for name, value in own.items():
            headers.update([safe_header(name, value)])
        accepted = f"{_EVENTS}, application/json" if call.body.get("stream") else "*/*"
        return headers | {
            "content-type": "application/json",
            "accept": accepted,
            "accept-encoding": "identity",
        }

    async def _key(self, provider: JsonObject, context: EffectContext) -> str:
        default = self.adapter.facts.credential
        given = cast("JsonObject | None", provider.get("credential"))
        reference: JsonObject | None = given or ({"env": default} if default else None)
        return "" if reference is None else (await context.secrets.resolve(reference)).strip()

    async def _body(
        self, answer: Answer, request: ModelRequest, context: EffectContext
    ) -> JsonObject:
        if not 200 <= answer.status < 300:
            raise await self._failure(answer)
        if request.stream and _EVENTS in answer.headers.get("content-type", ""):
            await context.emit("response.started", {})
            fold = self.adapter.fold()
            await _follow(fold, answer, context)
            return fold.body()
        return parse_object(await answer.read())

    async def _failure(self, answer: Answer) -> EffectError:
        """Return what an error answer means; its head says enough if its body is lost."""
        try:
            data = await answer.read()
        except EffectError:
            data = b""
        return failure_of_answer(answer.status, answer.headers, data, self.adapter.facts.kind)


async def _follow(fold: Fold, answer: Answer, context: EffectContext) -> None:
    """Read a stream to its end; progress is durable before more is read. Raises EffectError."""
    decoder, place = EventDecoder(), 0
    try:
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                for event in decoder.feed(chunk):
                    place += 1
                    for progress in fold.feed(event):
                        await context.emit(progress.event_type, progress.payload, place)
                if fold.is_over:
                    break
    except EffectError as error:
        if not (error.ambiguous and fold.is_complete):
            raise
    if not fold.is_complete:
        message = "the stream ended before the answer was whole"
        raise EffectError(message, code="connection_lost", ambiguous=True)


async def _tell_end(result: ModelResult, context: EffectContext) -> None:
    end = Progress(
        "response.completed", {"characters": len(result.text), "stopReason": result.stop_reason}
    )
    await context.emit(end.event_type, end.payload)


def base_url(facts: ProviderFacts, provider: JsonObject) -> str:
    """Return the address of a provider: its own, or the one that its kind has."""
    return cast("str | None", provider.get("endpoint")) or facts.endpoint


def joined_url(base: str, call: HttpCall) -> str:
    """Return where a call goes.

    An endpoint may already end with the beginning of the path, as `…/v1` does.
    """
    root = base.rstrip("/")
    parts = call.path.strip("/").split("/")
    for count in range(len(parts), 0, -1):
        ending = "/" + "/".join(parts[:count])
        if root.endswith(ending):
            root = root.removesuffix(ending)
            break
    query = f"?{call.query}" if call.query else ""
    return f"{root}{call.path}{query}"


def _provider(definitions: JsonObject, name: str) -> JsonObject:
    return cast("dict[str, JsonObject]", definitions["providers"])[name]


def _rendered(definitions: JsonObject, kind: str) -> JsonObject:
    """Return the catalog's tools in the words of one kind of provider."""
    told = cast("dict[str, JsonObject]", definitions.get("catalogTools") or {})
    return told.get(kind, {})
