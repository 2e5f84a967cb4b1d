"""The declaration of the session machine. Only the compiler and the tests import it."""

from __future__ import annotations

from statemachine import Event, State, StateMachine


class Session(StateMachine):
    """A session is a conversation with a provider or a protocol peer."""

    opening = State("the handshake is under way", initial=True)
    open = State("requests may be sent")
    lost = State("the peer does not answer any more")
    closed = State("it ended in order", final=True)
    failed = State("it could not be opened or won back", final=True)

    establish = Event(opening.to(open), name="the handshake is complete")
    lose = Event(open.to(lost), name="the connection broke")
    reconnect = Event(lost.to(open), name="the peer answers again")
    close = Event(open.to(closed), name="it is no longer needed")
    fail = Event(opening.to(failed) | lost.to(failed), name="the peer cannot be reached")
    abandon = Event(lost.to(closed), name="it is not needed enough to win it back")
