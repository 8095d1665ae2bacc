"""Where a client's key is kept, if not in a file of its state directory."""

from __future__ import annotations

import base64
import importlib
import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from . import errors
from ._native import folkmoot_mobile as native

_log = logging.getLogger("folkmoot.secrets")
_T = TypeVar("_T")


class SecretStorage(Protocol):
    """Keeps 32 bytes for one client: give one to `Client(secrets=...)`. What it raises becomes a StorageError."""

    def load(self) -> bytes | None:
        """Returns the secret, or None if none was saved. It raises where that cannot be known: no new key is drawn then."""

    def save(self, secret: bytes) -> None:
        """Keeps the secret, durably when it returns."""

    def delete(self) -> None:
        """Deletes the secret, if there is one."""


class KeyringSecrets:
    """Keeps the key in the system's own store, through the package `keyring`: a Keychain, a Secret Service, or Windows' own."""

    def __init__(self, name: str, service: str = "folkmoot") -> None:
        """`name` tells the clients of this user apart: two with the same name would be one client.

        Raises BadOptionError if `keyring` is not installed.
        """
        try:
            self._keyring = importlib.import_module("keyring")
        except ImportError:
            raise errors.BadOptionError("the system's store of secrets needs a package: pip install keyring") from None
        self._place = (service, name)

    def load(self) -> bytes | None:
        """Returns the secret, or None if none was saved."""
        text = self._keyring.get_password(*self._place)
        return None if text is None else base64.b64decode(text, validate=True)

    def save(self, secret: bytes) -> None:
        """Keeps the secret."""
        self._keyring.set_password(*self._place, base64.b64encode(secret).decode())

    def delete(self) -> None:
        """Deletes the secret, if there is one."""
        if self._keyring.get_password(*self._place) is not None:
            self._keyring.delete_password(*self._place)


class NativeSecrets(native.SecretStorage):
    """A storage as the native library calls it."""

    def __init__(self, storage: SecretStorage) -> None:
        self._storage = storage

    def load(self) -> bytes | None:
        """Loads."""
        secret = _told("load", self._storage.load)
        return None if secret is None else bytes(secret)

    def save(self, secret: bytes) -> None:
        """Saves."""
        _told("save", lambda: self._storage.save(secret))

    def delete(self) -> None:
        """Deletes."""
        _told("delete", self._storage.delete)


def _told(method: str, call: Callable[[], _T]) -> _T:
    """Calls, and logs what it raises: the library hears that it failed, and why."""
    try:
        return call()
    except Exception as error:
        _log.exception("the storage's %s failed", method)
        raise errors.failed(f"{type(error).__name__} in {method}: {error}") from None
