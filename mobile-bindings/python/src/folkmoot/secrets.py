"""Storage of a client's key outside its state directory."""

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
    """Stores the 32 secret bytes of one client. Pass it to `Client(secrets=...)`. Its exceptions become StorageErrors."""

    def load(self) -> bytes | None:
        """Returns the secret, or None if none was saved. Raise an exception if you cannot tell, so that no new key is
        generated.
        """

    def save(self, secret: bytes) -> None:
        """Saves the secret. It must be durable when this returns."""

    def delete(self) -> None:
        """Deletes the secret, if there is one."""


class KeyringSecrets:
    """Stores the key in the system's own store, through the package `keyring`: Keychain, Secret Service or Windows
    Credential Locker.
    """

    def __init__(self, name: str, service: str = "folkmoot") -> None:
        """`name` distinguishes the clients of this user. Two clients with the same name would share one identity.

        Raises BadOptionError if `keyring` is not installed.
        """
        try:
            self._keyring = importlib.import_module("keyring")
        except ImportError:
            raise errors.BadOptionError("the system's secret store needs keyring; run `pip install keyring`") from None
        self._place = (service, name)

    def load(self) -> bytes | None:
        """Returns the secret, or None if none was saved."""
        text = self._keyring.get_password(*self._place)
        return None if text is None else base64.b64decode(text, validate=True)

    def save(self, secret: bytes) -> None:
        """Saves the secret in base64, because a keyring stores text."""
        self._keyring.set_password(*self._place, base64.b64encode(secret).decode())

    def delete(self) -> None:
        """Deletes the secret, if there is one."""
        if self._keyring.get_password(*self._place) is not None:
            self._keyring.delete_password(*self._place)


class NativeSecrets(native.SecretStorage):
    """Adapts a storage to the native library's interface."""

    def __init__(self, storage: SecretStorage) -> None:
        self._storage = storage

    def load(self) -> bytes | None:
        """Loads the secret."""
        secret = _told("load", self._storage.load)
        return None if secret is None else bytes(secret)

    def save(self, secret: bytes) -> None:
        """Saves the secret."""
        _told("save", lambda: self._storage.save(secret))

    def delete(self) -> None:
        """Deletes the secret."""
        _told("delete", self._storage.delete)


def _told(method: str, call: Callable[[], _T]) -> _T:
    """Calls the storage. Logs an exception and reports it to the library."""
    try:
        return call()
    except Exception as error:
        _log.exception("%s of the secret storage failed", method)
        raise errors.failed(f"{type(error).__name__} in {method}: {error}") from None
