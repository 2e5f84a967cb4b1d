"""The declaration of the artifact machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Artifact(StateMachine):
    """An artifact is a file on its way into the store, visible only once it is durable."""

    staging = State("bytes are being written to a private place", initial=True)
    synced = State("the bytes are on the disk under their digest")
    published = State("records may refer to it")
    collected = State("nothing referred to it, and its bytes are gone", final=True)
    abandoned = State("it never became visible", final=True)

    sync = Event(staging.to(synced), name="the disk confirmed the bytes")
    publish = Event(synced.to(published), name="a commit refers to it")
    collect = Event(published.to(collected), name="the last reference is gone")
    abandon = Event(
        staging.to(abandoned) | synced.to(abandoned), name="its writer failed or was lost"
    )
