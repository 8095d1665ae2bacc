use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The action that a client should take after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// Send the same request again, later and with jitter.
    Retry,
    /// Drop the assignment and check in again.
    CheckIn,
    /// Stop. A person or an app update must change something first.
    GiveUp,
}

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $text:literal, $status:literal, $disposition:ident;)*) => {
        /// Why a request was refused. The text of a code never changes and is never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub enum ErrorCode {
            $($(#[doc = $doc])* #[cfg_attr(feature = "openapi", schema(rename = $text))] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the reference.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// Returns the stable text.
            pub fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$variant => $text,)* }
            }

            /// Returns what the code means, in one or two sentences for people to read.
            pub fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$variant => concat!($($doc),*).trim_ascii(),)* }
            }

            /// Returns the HTTP status of responses with this code.
            pub fn http_status(self) -> u16 {
                match self { $(ErrorCode::$variant => $status,)* }
            }

            /// Returns the action that a client should take after an error with this code.
            pub fn disposition(self) -> Disposition {
                match self { $(ErrorCode::$variant => Disposition::$disposition,)* }
            }
        }
    };
}

error_codes! {
    /// The request cannot be parsed: it is not JSON, a field is unknown or missing, or a header is invalid.
    MalformedRequest = "malformed_request", 400, GiveUp;
    /// The coordinator does not support the client's protocol version, because it is too old or too new.
    UnsupportedProtocolVersion = "unsupported_protocol_version", 426, GiveUp;
    /// The body's content type is not the endpoint's, or the body is compressed.
    UnsupportedMediaType = "unsupported_media_type", 415, GiveUp;
    /// The body is larger than the endpoint's limit.
    PayloadTooLarge = "payload_too_large", 413, GiveUp;
    /// There is no such endpoint.
    EndpointUnknown = "endpoint_unknown", 404, GiveUp;
    /// The endpoint does not support this HTTP method.
    MethodNotAllowed = "method_not_allowed", 405, GiveUp;
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", 408, Retry;
    /// This client sends too many requests.
    RateLimited = "rate_limited", 429, Retry;
    /// The coordinator is overloaded or shutting down.
    Overloaded = "overloaded", 503, Retry;
    /// An internal error occurred; the coordinator's log has the reason.
    Internal = "internal", 500, Retry;
    /// The request is not signed.
    SignatureMissing = "signature_missing", 401, GiveUp;
    /// The signature does not match the request and the client's key.
    SignatureInvalid = "signature_invalid", 401, GiveUp;
    /// The signature's time is too old or in the future. Sign again with the server's time.
    ClockSkew = "clock_skew", 401, Retry;
    /// The request was signed for another coordinator. Use an address whose name this coordinator has.
    AudienceMismatch = "audience_mismatch", 421, GiveUp;
    /// The nonce was already used. Sign again with a new one.
    RequestReplayed = "request_replayed", 401, Retry;
    /// No client has this id. Enrol again.
    ClientUnknown = "client_unknown", 401, GiveUp;
    /// The client's key was revoked.
    ClientRevoked = "client_revoked", 403, GiveUp;
    /// This coordinator requires a client certificate, and the connection has none.
    ClientCertificateMissing = "client_certificate_missing", 401, Retry;
    /// The client certificate has expired, was revoked, or is for another organisation than the client or its token.
    ClientCertificateInvalid = "client_certificate_invalid", 403, Retry;
    /// The enrolment token is unknown.
    EnrolmentTokenInvalid = "enrolment_token_invalid", 403, GiveUp;
    /// The enrolment token has expired.
    EnrolmentTokenExpired = "enrolment_token_expired", 403, GiveUp;
    /// The enrolment token has reached its limit of uses.
    EnrolmentTokenExhausted = "enrolment_token_exhausted", 403, GiveUp;
    /// The enrolment token is closed to new clients, because a client that enrolled with it was revoked.
    EnrolmentTokenClosed = "enrolment_token_closed", 403, GiveUp;
    /// The request carries no API key.
    ApiKeyMissing = "api_key_missing", 401, GiveUp;
    /// The API key is unknown or was revoked.
    ApiKeyInvalid = "api_key_invalid", 401, GiveUp;
    /// The API key's role does not permit this.
    RoleInsufficient = "role_insufficient", 403, GiveUp;
    /// This client has no such assignment.
    AssignmentUnknown = "assignment_unknown", 404, CheckIn;
    /// The assignment's deadline has passed, or the client gave it up.
    AssignmentExpired = "assignment_expired", 410, CheckIn;
    /// The round has closed without this update.
    RoundClosed = "round_closed", 410, CheckIn;
    /// There is no such blob, or this client has no assignment that needs it.
    BlobUnknown = "blob_unknown", 404, CheckIn;
    /// The requested range is outside the blob.
    RangeNotSatisfiable = "range_not_satisfiable", 416, GiveUp;
    /// The coordinator has received a different number of bytes. Continue from there.
    UploadOffsetMismatch = "upload_offset_mismatch", 409, Retry;
    /// Another request is currently sending this update.
    UploadBusy = "upload_busy", 409, Retry;
    /// The update's length does not match the plan's model.
    UploadLengthInvalid = "upload_length_invalid", 422, CheckIn;
    /// The bytes do not match the announced digest. Send them again from the start.
    UpdateDigestMismatch = "update_digest_mismatch", 422, Retry;
    /// A different update was already started or accepted for this assignment.
    UpdateConflict = "update_conflict", 409, CheckIn;
    /// The update's header cannot be parsed, or does not belong to this assignment.
    UpdateMalformed = "update_malformed", 422, CheckIn;
    /// The update's format or codec differs from the plan's.
    UpdateCodecUnsupported = "update_codec_unsupported", 422, CheckIn;
    /// The update's tensors differ from the model's in count, names, shapes or order.
    UpdateSchemaMismatch = "update_schema_mismatch", 422, CheckIn;
    /// The update is based on a different model version than the assignment.
    UpdateVersionMismatch = "update_version_mismatch", 422, CheckIn;
    /// The weight is 0 or above the plan's limit.
    UpdateWeightOutOfRange = "update_weight_out_of_range", 422, CheckIn;
    /// A metric is not finite or has an impossible value.
    UpdateMetricInvalid = "update_metric_invalid", 422, CheckIn;
    /// A value is NaN or infinite.
    UpdateValueNotFinite = "update_value_not_finite", 422, CheckIn;
    /// A value is outside the range of the plan's grid.
    UpdateValueOutOfRange = "update_value_out_of_range", 422, CheckIn;
    /// The update's L2 norm on the grid is above the assignment's clipping norm.
    UpdateNormTooLarge = "update_norm_too_large", 422, CheckIn;
    /// There is no such task.
    TaskUnknown = "task_unknown", 404, GiveUp;
    /// The task's description is invalid; the detail lists every fault.
    TaskInvalid = "task_invalid", 422, GiveUp;
    /// The task's state does not allow this.
    TaskStateConflict = "task_state_conflict", 409, GiveUp;
    /// The model is not an ONNX file that can be trained; the detail names the node.
    ModelInvalid = "model_invalid", 422, GiveUp;
    /// There is no such round.
    RoundUnknown = "round_unknown", 404, GiveUp;
    /// There is no such model version, or its weights were dropped.
    ModelVersionUnknown = "model_version_unknown", 404, GiveUp;
    /// There is no such model, population, organisation, client, token, API key or identity provider.
    ResourceUnknown = "resource_unknown", 404, GiveUp;
    /// The population's state does not allow this.
    PopulationStateConflict = "population_state_conflict", 409, GiveUp;
    /// The name is already in use.
    NameTaken = "name_taken", 409, GiveUp;
    /// This is the last admin key. Create another one first; without an admin key, nobody could create keys.
    LastAdminKey = "last_admin_key", 409, GiveUp;
    /// The organisation has used up one of its quotas; the detail names it.
    QuotaExceeded = "quota_exceeded", 403, GiveUp;
    /// The sign-in with an identity provider was cancelled, has expired or cannot be verified. Start again.
    SignInFailed = "sign_in_failed", 401, GiveUp;
    /// The identity provider cannot be reached, or its answer is unusable.
    IdentityProviderUnavailable = "identity_provider_unavailable", 503, Retry;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not an error code of this build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an error code of this version; `folkmoot errors` lists all codes")]
pub struct UnknownErrorCodeError(String);

impl FromStr for ErrorCode {
    type Err = UnknownErrorCodeError;

    fn from_str(text: &str) -> Result<Self, UnknownErrorCodeError> {
        let found = Self::ALL.iter().find(|code| code.as_str() == text);
        found.copied().ok_or_else(|| UnknownErrorCodeError(text.chars().take(64).collect()))
    }
}

// Written by hand: the derived implementations would contain every text twice, and browsers would have to download
// them.
impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_its_text() {
        for &code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(code));
            assert!(code.meaning().ends_with('.') && !code.meaning().starts_with(' '), "{code}");
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(json, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), code);
        }
        assert!("nonsense".parse::<ErrorCode>().is_err());
        assert!(serde_json::from_str::<ErrorCode>("\"nonsense\"").is_err());
    }
}
