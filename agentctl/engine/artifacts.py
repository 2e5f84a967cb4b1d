"""Artifacts on their way from an executor's hands to a run's record.

Above: the dispatcher and the scheduler. Below: `ports.ArtifactSink`, which makes bytes durable.
An executor keeps bytes on the shelf of its dispatch; the commit that confirms the effect also
holds the references, and an effect without a confirmed result refers to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attr import frozen

from agentctl.engine.records import ArtifactRecord
from agentctl.errors import EffectError
from agentctl.limits import ARTIFACT_BYTES_MAX
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentctl.clock import Instant
    from agentctl.engine.apply import Work
    from agentctl.engine.ports import ArtifactSink, SecretKeeper
    from agentctl.engine.records import EffectRecord
    from agentctl.engine.state import RunState


@frozen(kw_only=True, eq=False, repr=False)
class Kept(Value):
    """Bytes that are durable under their digest, and that no record refers to yet."""

    digest: str
    size_bytes: int
    logical_path: str
    media_type: str | None = None


class Shelf:
    """What one dispatch keeps; the executor sees it as `ports.ArtifactShelf`."""

    __slots__ = ("_secrets", "_sink", "kept")

    def __init__(self, sink: ArtifactSink, secrets: SecretKeeper) -> None:
        self._sink = sink
        self._secrets = secrets
        self.kept: list[Kept] = []

    def keep(self, data: bytes, logical_path: str, media_type: str | None = None) -> str:
        """Make bytes durable and return their digest. Raises EffectError, and StoreError.

        Values of secrets are taken out first, so the digest is that of the redacted bytes.
        """
        if len(data) > ARTIFACT_BYTES_MAX:
            raise EffectError(
                f"{logical_path} has {len(data):,} bytes; "
                f"ARTIFACT_BYTES_MAX is {ARTIFACT_BYTES_MAX:,}",
                code="artifact_too_large",
            )
        data = self._secrets.redact_bytes(data)
        logical_path = self._secrets.redact_text(logical_path)
        digest = self._sink.ingest(data)
        self.kept.append(
            Kept(
                digest=digest,
                size_bytes=len(data),
                logical_path=logical_path,
                media_type=media_type,
            )
        )
        return digest

    def clear(self) -> None:
        """Forgo everything, because the effect was not confirmed."""
        for one in self.kept:
            self._sink.forgo(one.digest)
        self.kept = []


def publish(
    state: RunState, work: Work, effect: EffectRecord, kept: Iterable[Kept], now: Instant
) -> None:
    """Put a confirmed effect's references into the unit of work that confirms it."""
    for place, one in enumerate(kept, start=1):
        made = ArtifactRecord(
            name=f"{effect.name}#{place}",
            number=len(state.artifacts) + 1,
            task_id=effect.task_id,
            digest=one.digest,
            size_bytes=one.size_bytes,
            logical_path=one.logical_path,
            media_type=one.media_type,
            created_at=now,
        )
        state.artifacts.append(work.move_on(work.add(made), ("sync", "publish"), now))


def copy_artifacts(
    source: Iterable[ArtifactRecord], work: Work, now: Instant
) -> tuple[ArtifactRecord, ...]:
    """Let a derived run refer to the same bytes as the run it was taken from."""
    copied = []
    for number, one in enumerate(source, start=1):
        made = ArtifactRecord(
            name=one.name,
            number=number,
            task_id=one.task_id,
            digest=one.digest,
            size_bytes=one.size_bytes,
            logical_path=one.logical_path,
            media_type=one.media_type,
            created_at=now,
        )
        copied.append(work.move_on(work.add(made), ("sync", "publish"), now))
    return tuple(copied)
