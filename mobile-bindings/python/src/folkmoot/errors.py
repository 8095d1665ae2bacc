"""What this package raises. The names do not change; the texts are for humans."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._native import folkmoot_mobile as native


class Disposition(str, enum.Enum):
    """What a client is to do about an error."""

    RETRY = "retry"
    """Send the same again, later and with jitter."""
    CHECK_IN = "check_in"
    """Drop the assignment and check in again."""
    GIVE_UP = "give_up"
    """Stop: a human or an update of the app must change something first."""


class ErrorCode(str, enum.Enum):
    """Why a coordinator refuses. The text of a code never changes."""

    MALFORMED_REQUEST = "malformed_request"
    """The request cannot be read: not JSON, a field that is unknown or missing, a header that makes no sense."""
    UNSUPPORTED_PROTOCOL_VERSION = "unsupported_protocol_version"
    """The client speaks a protocol version that is no longer or not yet served."""
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    """The body is of another type than the endpoint takes, or is encoded (compressed)."""
    PAYLOAD_TOO_LARGE = "payload_too_large"
    """The body is larger than the endpoint's limit."""
    ENDPOINT_UNKNOWN = "endpoint_unknown"
    """There is no such endpoint."""
    METHOD_NOT_ALLOWED = "method_not_allowed"
    """The endpoint does not know this method."""
    REQUEST_TIMEOUT = "request_timeout"
    """The request did not arrive in time."""
    RATE_LIMITED = "rate_limited"
    """Too many requests from this client."""
    OVERLOADED = "overloaded"
    """The coordinator has too much to do, or is shutting down."""
    INTERNAL = "internal"
    """Something failed inside; the log has the reason."""
    SIGNATURE_MISSING = "signature_missing"
    """The request is not signed."""
    SIGNATURE_INVALID = "signature_invalid"
    """The signature does not fit the request and the client's key."""
    CLOCK_SKEW = "clock_skew"
    """The request was signed too long ago or in the future; sign again with the server's time."""
    REQUEST_REPLAYED = "request_replayed"
    """The nonce was used before; sign again with a fresh one."""
    CLIENT_UNKNOWN = "client_unknown"
    """No client has this id; enrol again."""
    CLIENT_REVOKED = "client_revoked"
    """The client's key was revoked."""
    ENROLMENT_TOKEN_INVALID = "enrolment_token_invalid"
    """The enrolment token is not known."""
    ENROLMENT_TOKEN_EXPIRED = "enrolment_token_expired"
    """The enrolment token has expired."""
    ENROLMENT_TOKEN_EXHAUSTED = "enrolment_token_exhausted"
    """The enrolment token was used as often as it may be."""
    ENROLMENT_TOKEN_CLOSED = "enrolment_token_closed"
    """The enrolment token enrols no new clients, because one that had enrolled with it was revoked."""
    API_KEY_MISSING = "api_key_missing"
    """The request carries no API key."""
    API_KEY_INVALID = "api_key_invalid"
    """The API key is not known, or was revoked."""
    ROLE_INSUFFICIENT = "role_insufficient"
    """The API key's role may not do this."""
    ASSIGNMENT_UNKNOWN = "assignment_unknown"
    """There is no such assignment for this client."""
    ASSIGNMENT_EXPIRED = "assignment_expired"
    """The assignment's deadline has passed, or it was given up."""
    ROUND_CLOSED = "round_closed"
    """The round has closed without this update."""
    BLOB_UNKNOWN = "blob_unknown"
    """There is no such blob, or no assignment of this client needs it."""
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    """The range lies outside the blob."""
    UPLOAD_OFFSET_MISMATCH = "upload_offset_mismatch"
    """The coordinator has another number of bytes; go on from there."""
    UPLOAD_BUSY = "upload_busy"
    """Another request is sending this update now."""
    UPLOAD_LENGTH_INVALID = "upload_length_invalid"
    """The update is shorter or longer than the plan's model makes it."""
    UPDATE_DIGEST_MISMATCH = "update_digest_mismatch"
    """The bytes do not have the digest that was announced; send them again from the start."""
    UPDATE_CONFLICT = "update_conflict"
    """Another update was already begun or accepted for this assignment."""
    UPDATE_MALFORMED = "update_malformed"
    """The update's header cannot be read, or does not belong to this assignment."""
    UPDATE_CODEC_UNSUPPORTED = "update_codec_unsupported"
    """The update's format or codec is not the plan's."""
    UPDATE_SCHEMA_MISMATCH = "update_schema_mismatch"
    """The update's tensors are not the model's: count, names, shapes or order differ."""
    UPDATE_VERSION_MISMATCH = "update_version_mismatch"
    """The update is based on another model version than the assignment's."""
    UPDATE_WEIGHT_OUT_OF_RANGE = "update_weight_out_of_range"
    """The weight is 0 or above the plan's limit."""
    UPDATE_METRIC_INVALID = "update_metric_invalid"
    """A metric is not finite, or impossible."""
    UPDATE_VALUE_NOT_FINITE = "update_value_not_finite"
    """A value is NaN or infinite."""
    UPDATE_VALUE_OUT_OF_RANGE = "update_value_out_of_range"
    """A value is larger than the plan's grid allows."""
    UPDATE_NORM_TOO_LARGE = "update_norm_too_large"
    """The update's L2 norm on the grid is above the assignment's clipping norm."""
    TASK_UNKNOWN = "task_unknown"
    """There is no such task."""
    TASK_INVALID = "task_invalid"
    """The task's description has faults; the detail lists them all."""
    TASK_STATE_CONFLICT = "task_state_conflict"
    """The task is in a state in which this cannot be done."""
    MODEL_INVALID = "model_invalid"
    """The model is not an ONNX file that can be trained; the detail names the node."""
    ROUND_UNKNOWN = "round_unknown"
    """There is no such round."""
    MODEL_VERSION_UNKNOWN = "model_version_unknown"
    """There is no such model version."""
    RESOURCE_UNKNOWN = "resource_unknown"
    """There is no such token, API key or client."""
    POPULATION_STATE_CONFLICT = "population_state_conflict"
    """The population is in a state in which this cannot be done."""
    NAME_TAKEN = "name_taken"
    """Something of this name exists already."""
    LAST_ADMIN_KEY = "last_admin_key"
    """The key is the last one of an admin: without it nobody could hand out keys. Create another first."""

    @property
    def disposition(self) -> Disposition:
        """What a client is to do about it."""
        return _DISPOSITIONS[self]

    @property
    def http_status(self) -> int:
        """The HTTP status that carries it."""
        return _HTTP_STATUSES[self]


_INFOS = native.error_codes()
_DISPOSITIONS = {ErrorCode(info.text): Disposition(info.disposition.name.lower()) for info in _INFOS}
_HTTP_STATUSES = {ErrorCode(info.text): info.http_status for info in _INFOS}
_CODES = {info.code: ErrorCode(info.text) for info in _INFOS}


class FolkmootError(Exception):
    """What this package raises; each kind has a class of its own."""


class BadOptionError(FolkmootError, ValueError):
    """An option makes no sense or passes a limit."""


class BadExampleError(FolkmootError, ValueError):
    """Examples do not have the shape or the values that they must have."""


class NoExamplesError(FolkmootError):
    """There is nothing to train on: add examples, or give a trainer that has its own."""


class NotEnrolledError(FolkmootError):
    """The client is not enrolled and has no token."""


class RefusedError(FolkmootError):
    """The coordinator refuses this client; `code` says why, if it is a reason that this version knows."""

    def __init__(self, detail: str, code: ErrorCode | None) -> None:
        super().__init__(detail)
        self.code = code


class UnreachableError(FolkmootError, ConnectionError):
    """No coordinator answers there."""


class StorageError(FolkmootError, OSError):
    """The state directory cannot be used: the text names the file."""


class NoModelError(FolkmootError):
    """No assignment has brought a model yet."""


class AlreadyRunningError(FolkmootError):
    """The client runs already: stop it first."""


class ForgottenError(FolkmootError):
    """The client was forgotten or closed: make a new one."""


class InternalError(FolkmootError):
    """The package has a mistake: please report it."""


# The library's errors are made while its module is read, which a checker of types does not see.
_NATIVE: Any = native.FolkmootError
_CALLBACK: Any = native.CallbackError

_CLASSES: dict[type[Exception], type[FolkmootError]] = {
    _NATIVE.BadOption: BadOptionError,
    _NATIVE.BadExample: BadExampleError,
    _NATIVE.NoExamples: NoExamplesError,
    _NATIVE.NotEnrolled: NotEnrolledError,
    _NATIVE.Unreachable: UnreachableError,
    _NATIVE.StorageFailed: StorageError,
    _NATIVE.NoModel: NoModelError,
    _NATIVE.AlreadyRunning: AlreadyRunningError,
    _NATIVE.Forgotten: ForgottenError,
    _NATIVE.Internal: InternalError,
}


def translated(error: Exception) -> FolkmootError:
    """The error of this package for one of the native library."""
    if isinstance(error, _NATIVE.Refused):
        return RefusedError(error.detail, None if error.code is None else _CODES[error.code])
    kind = _CLASSES.get(type(error), InternalError)
    detail = getattr(error, "detail", None)
    return kind(detail if detail is not None else (kind.__doc__ or "").rstrip("."))


def failed(words: str) -> Exception:
    """What a callback raises to tell the library that it failed."""
    error: Exception = _CALLBACK.Failed(words)
    return error


@contextmanager
def translating() -> Iterator[None]:
    """Raises errors of this package instead of the native library's."""
    try:
        yield
    except (native.FolkmootError, native.InternalError) as error:
        raise translated(error) from None
