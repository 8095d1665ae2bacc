"""The rows of sessions: who is signed in to the console or the command line."""

from __future__ import annotations

from typing import TypedDict


class PersonView(TypedDict):
    """A person who signed in with an identity provider."""

    name: str
    provider: str
    subject: str


class OpenSessionView(TypedDict):
    """An open session of an API key or a person."""

    api_key_id: str | None
    api_key_name: str | None
    created_at: int
    expires_at: int
    id: str
    last_used_at: int | None
    person: PersonView | None
    role: str


class EndedSessionsView(TypedDict):
    """The number of a person's sessions that ended."""

    ended: int
