use folkmoot_client::protocol;
use folkmoot_client::protocol::ErrorCode;

/// What a client is to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Disposition {
    /// Send the same again, later and with jitter.
    Retry,
    /// Drop the assignment and check in again.
    CheckIn,
    /// Stop: a human or an app update must change something first.
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

/// What is known of an error code.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ErrorCodeInfo {
    /// The code.
    pub code: ErrorCode,
    /// Its stable text.
    pub text: String,
    /// The HTTP status that carries it.
    pub http_status: u16,
    /// What a client is to do.
    pub disposition: Disposition,
}

/// Every error code, in the order of the reference: a binding checks itself against it.
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

// The codes once more, for the languages' own enums. A code that is missing here does not compile.
#[uniffi::remote(Enum)]
pub enum ErrorCode {
    /// The request cannot be read: not JSON, a field that is unknown or missing, a header that makes no sense.
    MalformedRequest,
    /// The client speaks a protocol version that is no longer or not yet served.
    UnsupportedProtocolVersion,
    /// The body is of another type than the endpoint takes, or is encoded (compressed).
    UnsupportedMediaType,
    /// The body is larger than the endpoint's limit.
    PayloadTooLarge,
    /// There is no such endpoint.
    EndpointUnknown,
    /// The endpoint does not know this method.
    MethodNotAllowed,
    /// The request did not arrive in time.
    RequestTimeout,
    /// Too many requests from this client.
    RateLimited,
    /// The coordinator has too much to do, or is shutting down.
    Overloaded,
    /// Something failed inside; the log has the reason.
    Internal,
    /// The request is not signed.
    SignatureMissing,
    /// The signature does not fit the request and the client's key.
    SignatureInvalid,
    /// The request was signed too long ago or in the future; sign again with the server's time.
    ClockSkew,
    /// The nonce was used before; sign again with a fresh one.
    RequestReplayed,
    /// No client has this id; enrol again.
    ClientUnknown,
    /// The client's key was revoked.
    ClientRevoked,
    /// The enrolment token is not known.
    EnrolmentTokenInvalid,
    /// The enrolment token has expired.
    EnrolmentTokenExpired,
    /// The enrolment token was used as often as it may be.
    EnrolmentTokenExhausted,
    /// The enrolment token enrols no new clients, because one that had enrolled with it was revoked.
    EnrolmentTokenClosed,
    /// The request carries no API key.
    ApiKeyMissing,
    /// The API key is not known, or was revoked.
    ApiKeyInvalid,
    /// The API key's role may not do this.
    RoleInsufficient,
    /// There is no such assignment for this client.
    AssignmentUnknown,
    /// The assignment's deadline has passed, or it was given up.
    AssignmentExpired,
    /// The round has closed without this update.
    RoundClosed,
    /// There is no such blob, or no assignment of this client needs it.
    BlobUnknown,
    /// The range lies outside the blob.
    RangeNotSatisfiable,
    /// The coordinator has another number of bytes; go on from there.
    UploadOffsetMismatch,
    /// Another request is sending this update now.
    UploadBusy,
    /// The update is shorter or longer than the plan's model makes it.
    UploadLengthInvalid,
    /// The bytes do not have the digest that was announced; send them again from the start.
    UpdateDigestMismatch,
    /// Another update was already begun or accepted for this assignment.
    UpdateConflict,
    /// The update's header cannot be read, or does not belong to this assignment.
    UpdateMalformed,
    /// The update's format or codec is not the plan's.
    UpdateCodecUnsupported,
    /// The update's tensors are not the model's: count, names, shapes or order differ.
    UpdateSchemaMismatch,
    /// The update is based on another model version than the assignment's.
    UpdateVersionMismatch,
    /// The weight is 0 or above the plan's limit.
    UpdateWeightOutOfRange,
    /// A metric is not finite, or impossible.
    UpdateMetricInvalid,
    /// A value is NaN or infinite.
    UpdateValueNotFinite,
    /// A value is larger than the plan's grid allows.
    UpdateValueOutOfRange,
    /// The update's L2 norm on the grid is above the assignment's clipping norm.
    UpdateNormTooLarge,
    /// There is no such task.
    TaskUnknown,
    /// The task's description has faults; the detail lists them all.
    TaskInvalid,
    /// The task is in a state in which this cannot be done.
    TaskStateConflict,
    /// The model is not an ONNX file that can be trained; the detail names the node.
    ModelInvalid,
    /// There is no such round.
    RoundUnknown,
    /// There is no such model version.
    ModelVersionUnknown,
    /// There is no such token, API key or client.
    ResourceUnknown,
    /// The population is in a state in which this cannot be done.
    PopulationStateConflict,
    /// Something of this name exists already.
    NameTaken,
    /// The key is the last one of an admin: without it nobody could hand out keys. Create another first.
    LastAdminKey,
}
