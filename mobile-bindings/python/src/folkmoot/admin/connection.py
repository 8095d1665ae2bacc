"""Sends an operator's requests to the coordinator: HTTPS, JSON, and limits."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import IO, Any

from ..errors import BadOptionError, Disposition, UnreachableError
from .errors import AdminRefusedError

ANSWER_BYTES_MAX = 64 << 20
"""The maximum number of bytes in a JSON answer."""
PROBLEM_BYTES_MAX = 64 << 10
"""The maximum number of bytes that are read from a refusal."""
ATTEMPTS_MAX = 4
"""The maximum number of attempts for a request that changes nothing."""
PAUSE_SECONDS = 0.5
"""The pause before the second attempt. Each further pause is twice as long."""
PAUSE_SECONDS_MAX = 10.0
"""The longest pause, even if the coordinator asks for a longer one."""
_SHOWN_CHARACTERS_MAX = 200
_OCTETS = "application/octet-stream"


class Connection:
    """One coordinator under one API key."""

    def __init__(
        self, url: str, api_key: str, certificate: str | bytes | os.PathLike[str] | None, timeout_seconds: float
    ) -> None:
        if not timeout_seconds > 0:
            raise BadOptionError(f"timeout_seconds is {timeout_seconds}; it must be greater than 0")
        self._base = _checked_base(url)
        self._api_key = api_key.strip()
        if not self._api_key or not self._api_key.isascii() or any(letter.isspace() for letter in self._api_key):
            raise BadOptionError(
                "api_key is not an API key, which has the form ID.SECRET; `folkmoot key create` creates one"
            )
        self._timeout_seconds = timeout_seconds
        https = urllib.request.HTTPSHandler(context=_context(certificate))
        # A redirect could send the API key to another host, and a proxy could read it where there is no TLS.
        handlers: list[urllib.request.BaseHandler] = [https, _NoRedirects()]
        if self._base.startswith("http:"):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        """Requests JSON. Retries if there is no answer or the coordinator is overloaded."""
        return self._json("GET", path, None, query)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Sends JSON or an empty body. Returns the answer, or None if it is empty."""
        return self._json(method, path, None if body is None else ("application/json", _written(body)))

    def send(self, path: str, content: bytes) -> Any:
        """Sends bytes and returns the answer."""
        try:
            return self._json("POST", path, (_OCTETS, content))
        except UnreachableError as broken:
            # The coordinator may have refused the request and closed the connection before it had read all bytes, so
            # its reason was lost. Send an empty request to get the reason.
            self._raise_refusal(path)
            words = f"{broken}; {len(content)} bytes were to be sent, which may exceed the coordinator's limit"
            raise UnreachableError(words) from broken.__cause__

    def download(self, path: str, file: IO[bytes]) -> http.client.HTTPMessage:
        """Writes an answer of any length to a file and returns its headers."""
        with self._open("GET", path, None) as answer:
            expected = answer.headers.get("content-length")
            written = 0
            try:
                while part := answer.read(1 << 20):
                    written += file.write(part)
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable("GET", path, error) from None
            if expected is not None and written != int(expected):
                raise self._unreachable("GET", path, f"only {written} of {expected} bytes arrived")
            headers: http.client.HTTPMessage = answer.headers
            return headers

    def _raise_refusal(self, path: str) -> None:
        """Sends an empty file, and raises the coordinator's refusal if it forbids this key to send anything to this
        path. Changes nothing, because an empty file is always invalid.
        """
        try:
            self._json("POST", path, (_OCTETS, b""))
        except AdminRefusedError as refusal:
            if refusal.status in (401, 403) or refusal.disposition is Disposition.RETRY:
                raise
        except UnreachableError:
            pass

    def _json(
        self, method: str, path: str, content: tuple[str, bytes] | None, query: Mapping[str, object] | None = None
    ) -> Any:
        place = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        with self._open(method, place, content) as answer:
            try:
                text = answer.read(ANSWER_BYTES_MAX + 1)
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(method, place, error) from None
        if len(text) > ANSWER_BYTES_MAX:
            raise self._unreachable(method, place, f"the answer has more than {ANSWER_BYTES_MAX} bytes")
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError:
            raise self._unreachable(method, place, f"the answer is not JSON: {_shown(text)}") from None

    def _open(self, method: str, path: str, content: tuple[str, bytes] | None) -> Any:
        """Sends a request and returns the accepted answer. A request that changes nothing is sent again if it fails."""
        pause = PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS_MAX + 1):
            is_last = method != "GET" or attempt == ATTEMPTS_MAX
            try:
                return self._opened(method, path, content)
            except UnreachableError as error:
                if is_last or isinstance(error.__cause__, ssl.SSLCertVerificationError):
                    raise
                wait = pause
            except AdminRefusedError as error:
                if is_last or error.disposition is not Disposition.RETRY:
                    raise
                wait = max(pause, error.retry_after_seconds or 0.0)
            time.sleep(min(wait, PAUSE_SECONDS_MAX))
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _opened(self, method: str, path: str, content: tuple[str, bytes] | None) -> Any:
        headers = {"authorization": f"Bearer {self._api_key}", "accept": "*/*"}
        kind, body = content if content is not None else (None, None)
        if kind is not None:
            headers["content-type"] = kind
        request = urllib.request.Request(f"{self._base}/v1/admin/{path}", body, headers, method=method)
        try:
            return self._opener.open(request, timeout=self._timeout_seconds)
        except urllib.error.HTTPError as error:
            raise self._refusal(method, path, error.code, _problem(error)) from None
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            cause = reason if isinstance(reason, Exception) else None
            raise self._unreachable(method, path, reason) from cause

    def _refusal(self, method: str, path: str, status: int, text: bytes) -> Exception:
        try:
            problem = json.loads(text)
        except ValueError:
            problem = None
        if isinstance(problem, dict) and "code" in problem:
            return AdminRefusedError(f"{method} /v1/admin/{path}", status, problem)
        return self._unreachable(
            method, path, f"status {status} with an answer that is not a coordinator's: {_shown(text)}"
        )

    def _unreachable(self, method: str, path: str, reason: object) -> UnreachableError:
        remedy = "check that `folkmoot serve` is running and that url and certificate belong to it"
        if isinstance(reason, TimeoutError):
            remedy = "the coordinator may be overloaded; try again, or set a longer timeout_seconds"
        return UnreachableError(f"{method} {self._base}/v1/admin/{path}: {reason}; {remedy}")


def _problem(error: urllib.error.HTTPError) -> bytes:
    """Returns the part of a refusal's text that arrived."""
    with error:
        try:
            return error.read(PROBLEM_BYTES_MAX)
        except (OSError, http.client.HTTPException):
            return b""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise BadOptionError(
            f"the request cannot be written as JSON: {error}; use str, int, finite float, bool, None, list and dict"
        ) from None


def _context(certificate: str | bytes | os.PathLike[str] | None) -> ssl.SSLContext:
    """Trusts only this certificate, or the system's certificates if there is none."""
    if certificate is None:
        return ssl.create_default_context()
    try:
        if isinstance(certificate, bytes):
            return ssl.create_default_context(cadata=certificate.decode("ascii"))
        return ssl.create_default_context(cafile=os.fspath(certificate))
    except (OSError, ValueError) as error:
        raise BadOptionError(f"certificate: {error}; give the path of the coordinator's ca.pem") from None


def _checked_base(url: str) -> str:
    """Returns the address without a path. A key may only be sent over TLS, or to this machine."""
    expected = "use https://HOST[:PORT], or http:// for this machine only"
    try:
        parts = urllib.parse.urlsplit(url.strip())
        is_plain = parts.path in ("", "/") and not parts.query and not parts.fragment and "@" not in parts.netloc
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(parts.hostname or ""))
        if not (is_plain and is_safe and parts.hostname and parts.port != 0):
            raise ValueError
    except ValueError:
        raise BadOptionError(f"url is {url!r}, which is not a coordinator's address; {expected}") from None
    return f"{parts.scheme}://{parts.netloc}"


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "replace")[:_SHOWN_CHARACTERS_MAX])
