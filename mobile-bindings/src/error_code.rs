use folkmoot_client::protocol;
use folkmoot_client::protocol::ErrorCode;

/// The action that a client should take after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Disposition {
    /// Send the same request again, later and with jitter.
    Retry,
    /// Drop the assignment and check in again.
    CheckIn,
    /// Stop. A person or an app update must change something first.
    GiveUp,
}

impl From<protocol::Disposition> for Disposition {
    fn from(disposition: protocol::Disposition) -> Self {
        match disposition {
            protocol::Disposition::Retry => Self::Retry,
            protocol::Disposition::CheckIn => Self::CheckIn,
            protocol::Disposition::GiveUp => Self::GiveUp,
        }
    }
}

/// The properties of an error code.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ErrorCodeInfo {
    /// The code.
    pub code: ErrorCode,
    /// The code's stable text.
    pub text: String,
    /// The HTTP status of responses with this code.
    pub http_status: u16,
    /// The action that a client should take after an error with this code.
    pub disposition: Disposition,
}

/// Returns every error code, in the order of the reference. A binding compares its own list with it.
#[uniffi::export]
pub fn error_codes() -> Vec<ErrorCodeInfo> {
    let info = |code: &ErrorCode| ErrorCodeInfo {
        code: *code,
        text: code.as_str().to_owned(),
        http_status: code.http_status(),
        disposition: code.disposition().into(),
    };
    ErrorCode::ALL.iter().map(info).collect()
}

// Repeats the codes for the languages' own enums. A missing code is a compile error.
#[uniffi::remote(Enum)]
pub enum ErrorCode {
    /// The request cannot be parsed: it is not JSON, a field is unknown or missing, or a header is invalid.
    MalformedRequest,
    /// The coordinator does not support the client's protocol version, because it is too old or too new.
    UnsupportedProtocolVersion,
    /// The body's content type is not the endpoint's, or the body is compressed.
    UnsupportedMediaType,
    /// The body is larger than the endpoint's limit.
    PayloadTooLarge,
    /// There is no such endpoint.
    EndpointUnknown,
    /// The endpoint does not support this HTTP method.
    MethodNotAllowed,
    /// The request did not arrive in time.
    RequestTimeout,
    /// This client sends too many requests.
    RateLimited,
    /// The coordinator is overloaded or shutting down.
    Overloaded,
    /// An internal error occurred; the coordinator's log has the reason.
    Internal,
    /// The request is not signed.
    SignatureMissing,
    /// The signature does not match the request and the client's key.
    SignatureInvalid,
    /// The signature's time is too old or in the future. Sign again with the server's time.
    ClockSkew,
    /// The request was signed for another coordinator. Use an address whose name this coordinator has.
    AudienceMismatch,
    /// The nonce was already used. Sign again with a new one.
    RequestReplayed,
    /// No client has this id. Enrol again.
    ClientUnknown,
    /// The client's key was revoked.
    ClientRevoked,
    ClientCertificateMissing,
    ClientCertificateInvalid,
    /// The enrolment token is unknown.
    EnrolmentTokenInvalid,
    /// The enrolment token has expired.
    EnrolmentTokenExpired,
    /// The enrolment token has reached its limit of uses.
    EnrolmentTokenExhausted,
    /// The enrolment token is closed to new clients, because a client that enrolled with it was revoked.
    EnrolmentTokenClosed,
    /// The request carries no API key.
    ApiKeyMissing,
    /// The API key is unknown or was revoked.
    ApiKeyInvalid,
    /// The API key's role does not permit this.
    RoleInsufficient,
    /// This client has no such assignment.
    AssignmentUnknown,
    /// The assignment's deadline has passed, or the client gave it up.
    AssignmentExpired,
    /// The round has closed without this update.
    RoundClosed,
    /// There is no such blob, or this client has no assignment that needs it.
    BlobUnknown,
    /// The requested range is outside the blob.
    RangeNotSatisfiable,
    /// The coordinator has received a different number of bytes. Continue from there.
    UploadOffsetMismatch,
    /// Another request is currently sending this update.
    UploadBusy,
    /// The update's length does not match the plan's model.
    UploadLengthInvalid,
    /// The bytes do not match the announced digest. Send them again from the start.
    UpdateDigestMismatch,
    /// A different update was already started or accepted for this assignment.
    UpdateConflict,
    /// The update's header cannot be parsed, or does not belong to this assignment.
    UpdateMalformed,
    /// The update's format or codec differs from the plan's.
    UpdateCodecUnsupported,
    /// The update's tensors differ from the model's in count, names, shapes or order.
    UpdateSchemaMismatch,
    /// The update is based on a different model version than the assignment.
    UpdateVersionMismatch,
    /// The weight is 0 or above the plan's limit.
    UpdateWeightOutOfRange,
    /// A metric is not finite or has an impossible value.
    UpdateMetricInvalid,
    /// A value is NaN or infinite.
    UpdateValueNotFinite,
    /// A value is outside the range of the plan's grid.
    UpdateValueOutOfRange,
    /// The update's L2 norm on the grid is above the assignment's clipping norm.
    UpdateNormTooLarge,
    /// There is no such task.
    TaskUnknown,
    /// The task's description is invalid; the detail lists every fault.
    TaskInvalid,
    /// The task's state does not allow this.
    TaskStateConflict,
    /// The model is not an ONNX file that can be trained; the detail names the node.
    ModelInvalid,
    /// There is no such round.
    RoundUnknown,
    /// There is no such model version, or its weights were dropped.
    ModelVersionUnknown,
    /// There is no such model, population, organisation, client, token, API key or identity provider.
    ResourceUnknown,
    /// The population's state does not allow this.
    PopulationStateConflict,
    /// The name is already in use.
    NameTaken,
    /// This is the last admin key. Create another one first; without an admin key, nobody could create keys.
    LastAdminKey,
    /// The organisation has used up one of its quotas; the detail names it.
    QuotaExceeded,
    /// The sign-in with an identity provider was cancelled, has expired or cannot be verified. Start again.
    SignInFailed,
    /// The identity provider cannot be reached, or its answer is unusable.
    IdentityProviderUnavailable,
}
