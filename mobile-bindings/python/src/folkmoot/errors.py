"""Exceptions of this package. The names are stable; the texts are for people to read."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._native import folkmoot_mobile as native


class Disposition(str, enum.Enum):
    """The action that a client should take after an error."""

    RETRY = "retry"
    """Send the same request again, later and with jitter."""
    CHECK_IN = "check_in"
    """Drop the assignment and check in again."""
    GIVE_UP = "give_up"
    """Stop. A person or an update of the app must change something first."""


class ErrorCode(str, enum.Enum):
    """Why a coordinator refused a request. The text of a code is stable."""

    MALFORMED_REQUEST = "malformed_request"
    """The request cannot be parsed: it is not JSON, a field is unknown or missing, or a header is invalid."""
    UNSUPPORTED_PROTOCOL_VERSION = "unsupported_protocol_version"
    """The coordinator does not support the client's protocol version, because it is too old or too new."""
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    """The body's content type is not the endpoint's, or the body is compressed."""
    PAYLOAD_TOO_LARGE = "payload_too_large"
    """The body is larger than the endpoint's limit."""
    ENDPOINT_UNKNOWN = "endpoint_unknown"
    """There is no such endpoint."""
    METHOD_NOT_ALLOWED = "method_not_allowed"
    """The endpoint does not support this HTTP method."""
    REQUEST_TIMEOUT = "request_timeout"
    """The request did not arrive in time."""
    RATE_LIMITED = "rate_limited"
    """This client sends too many requests."""
    OVERLOADED = "overloaded"
    """The coordinator is overloaded or shutting down."""
    INTERNAL = "internal"
    """An internal error occurred; the coordinator's log has the reason."""
    SIGNATURE_MISSING = "signature_missing"
    """The request is not signed."""
    SIGNATURE_INVALID = "signature_invalid"
    """The signature does not match the request and the client's key."""
    CLOCK_SKEW = "clock_skew"
    """The signature's time is too old or in the future. Sign again with the server's time."""
    AUDIENCE_MISMATCH = "audience_mismatch"
    """The request was signed for another coordinator. Use an address whose name this coordinator has."""
    REQUEST_REPLAYED = "request_replayed"
    """The nonce was already used. Sign again with a new one."""
    CLIENT_UNKNOWN = "client_unknown"
    """No client has this id. Enrol again."""
    CLIENT_REVOKED = "client_revoked"
    """The client's key was revoked."""
    CLIENT_CERTIFICATE_MISSING = "client_certificate_missing"
    """This coordinator requires a client certificate, and the connection has none."""
    CLIENT_CERTIFICATE_INVALID = "client_certificate_invalid"
    """The client certificate has expired, was revoked, or is for another organisation than the client or its token."""
    ENROLMENT_TOKEN_INVALID = "enrolment_token_invalid"
    """The enrolment token is unknown."""
    ENROLMENT_TOKEN_EXPIRED = "enrolment_token_expired"
    """The enrolment token has expired."""
    ENROLMENT_TOKEN_EXHAUSTED = "enrolment_token_exhausted"
    """The enrolment token has reached its limit of uses."""
    ENROLMENT_TOKEN_CLOSED = "enrolment_token_closed"
    """The enrolment token is closed to new clients, because a client that enrolled with it was revoked."""
    API_KEY_MISSING = "api_key_missing"
    """The request carries no API key."""
    API_KEY_INVALID = "api_key_invalid"
    """The API key is unknown or was revoked."""
    ROLE_INSUFFICIENT = "role_insufficient"
    """The API key's role does not permit this."""
    ASSIGNMENT_UNKNOWN = "assignment_unknown"
    """This client has no such assignment."""
    ASSIGNMENT_EXPIRED = "assignment_expired"
    """The assignment's deadline has passed, or the client gave it up."""
    ROUND_CLOSED = "round_closed"
    """The round has closed without this update."""
    BLOB_UNKNOWN = "blob_unknown"
    """There is no such blob, or this client has no assignment that needs it."""
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    """The requested range is outside the blob."""
    UPLOAD_OFFSET_MISMATCH = "upload_offset_mismatch"
    """The coordinator has received a different number of bytes. Continue from there."""
    UPLOAD_BUSY = "upload_busy"
    """Another request is currently sending this update."""
    UPLOAD_LENGTH_INVALID = "upload_length_invalid"
    """The update's length does not match the plan's model."""
    UPDATE_DIGEST_MISMATCH = "update_digest_mismatch"
    """The bytes do not match the announced digest. Send them again from the start."""
    UPDATE_CONFLICT = "update_conflict"
    """A different update was already started or accepted for this assignment."""
    UPDATE_MALFORMED = "update_malformed"
    """The update's header cannot be parsed, or does not belong to this assignment."""
    UPDATE_CODEC_UNSUPPORTED = "update_codec_unsupported"
    """The update's format or codec differs from the plan's."""
    UPDATE_SCHEMA_MISMATCH = "update_schema_mismatch"
    """The update's tensors differ from the model's in count, names, shapes or order."""
    UPDATE_VERSION_MISMATCH = "update_version_mismatch"
    """The update is based on a different model version than the assignment."""
    UPDATE_WEIGHT_OUT_OF_RANGE = "update_weight_out_of_range"
    """The weight is 0 or above the plan's limit."""
    UPDATE_METRIC_INVALID = "update_metric_invalid"
    """A metric is not finite or has an impossible value."""
    UPDATE_VALUE_NOT_FINITE = "update_value_not_finite"
    """A value is NaN or infinite."""
    UPDATE_VALUE_OUT_OF_RANGE = "update_value_out_of_range"
    """A value is outside the range of the plan's grid."""
    UPDATE_NORM_TOO_LARGE = "update_norm_too_large"
    """The update's L2 norm on the grid is above the assignment's clipping norm."""
    TASK_UNKNOWN = "task_unknown"
    """There is no such task."""
    TASK_INVALID = "task_invalid"
    """The task's description is invalid; the detail lists every fault."""
    TASK_STATE_CONFLICT = "task_state_conflict"
    """The task's state does not allow this."""
    MODEL_INVALID = "model_invalid"
    """The model is not an ONNX file that can be trained; the detail names the node."""
    ROUND_UNKNOWN = "round_unknown"
    """There is no such round."""
    MODEL_VERSION_UNKNOWN = "model_version_unknown"
    """There is no such model version, or its weights were dropped."""
    RESOURCE_UNKNOWN = "resource_unknown"
    """There is no such model, population, organisation, client, token, API key or identity provider."""
    POPULATION_STATE_CONFLICT = "population_state_conflict"
    """The population's state does not allow this."""
    NAME_TAKEN = "name_taken"
    """The name is already in use."""
    LAST_ADMIN_KEY = "last_admin_key"
    """This is the last admin key. Create another one first; without an admin key, nobody could create keys."""
    QUOTA_EXCEEDED = "quota_exceeded"
    """The organisation has used up one of its quotas; the detail names it."""
    SIGN_IN_FAILED = "sign_in_failed"
    """The sign-in with an identity provider was cancelled, has expired or cannot be verified. Start again."""
    IDENTITY_PROVIDER_UNAVAILABLE = "identity_provider_unavailable"
    """The identity provider cannot be reached, or its answer is unusable."""

    @property
    def disposition(self) -> Disposition:
        """The action that a client should take after an error with this code."""
        return _DISPOSITIONS[self]

    @property
    def http_status(self) -> int:
        """The HTTP status of responses with this code."""
        return _HTTP_STATUSES[self]


_INFOS = native.error_codes()
_DISPOSITIONS = {ErrorCode(info.text): Disposition(info.disposition.name.lower()) for info in _INFOS}
_HTTP_STATUSES = {ErrorCode(info.text): info.http_status for info in _INFOS}
_CODES = {info.code: ErrorCode(info.text) for info in _INFOS}


class FolkmootError(Exception):
    """The base class of this package's exceptions."""


class BadOptionError(FolkmootError, ValueError):
    """An option is invalid or exceeds its limit."""


class BadExampleError(FolkmootError, ValueError):
    """The examples have the wrong shape or invalid values."""


class NoExamplesError(FolkmootError):
    """There are no examples to train on. Add examples, or set a trainer that has its own."""


class NotEnrolledError(FolkmootError):
    """The client is not enrolled and has no token."""


class RefusedError(FolkmootError):
    """The coordinator refused this client. `code` is the error code, or None if this version does not know it."""

    def __init__(self, detail: str, code: ErrorCode | None) -> None:
        super().__init__(detail)
        self.code = code


class UnreachableError(FolkmootError, ConnectionError):
    """The coordinator cannot be reached, or its response is unusable."""


class StorageError(FolkmootError, OSError):
    """A file in the state directory, or the secret storage, cannot be used. The text says which."""


class NoModelError(FolkmootError):
    """There is no model on this machine yet. Update the model, or wait for the first assignment."""


class ModelUnusableError(FolkmootError):
    """The model that the operator has rolled out cannot be used on this device. Predictions keep the model before."""


class AlreadyRunningError(FolkmootError):
    """The client is already running. Stop it first."""


class ForgottenError(FolkmootError):
    """The client was forgotten or closed. Create a new one."""


class InternalError(FolkmootError):
    """A bug in the package. Please report it."""


# The library creates its error classes when its module is imported, so type checkers do not see them.
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
    _NATIVE.ModelUnusable: ModelUnusableError,
    _NATIVE.AlreadyRunning: AlreadyRunningError,
    _NATIVE.Forgotten: ForgottenError,
    _NATIVE.Internal: InternalError,
}


def translated(error: Exception) -> FolkmootError:
    """Returns this package's exception for an exception of the native library."""
    if isinstance(error, _NATIVE.Refused):
        return RefusedError(error.detail, None if error.code is None else _CODES[error.code])
    kind = _CLASSES.get(type(error), InternalError)
    detail = getattr(error, "detail", None)
    return kind(detail if detail is not None else (kind.__doc__ or "").rstrip("."))


def failed(words: str) -> Exception:
    """Returns the exception that a callback raises to report a failure to the library."""
    error: Exception = _CALLBACK.Failed(words)
    return error


@contextmanager
def translating() -> Iterator[None]:
    """Replaces exceptions of the native library with this package's."""
    try:
        yield
    except (native.FolkmootError, native.InternalError) as error:
        raise translated(error) from None
