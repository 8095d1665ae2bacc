use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// What a client is to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// Send the same again, later and with jitter.
    Retry,
    /// Drop the assignment and check in again.
    CheckIn,
    /// Stop: a human or an app update must change something first.
    GiveUp,
}

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $text:literal, $status:literal, $disposition:ident;)*) => {
        /// Why a request was refused. The text of a code never changes and is never used again for another.
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

            /// Returns what it means, as a sentence or two for humans.
            pub fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$variant => concat!($($doc),*).trim_ascii(),)* }
            }

            /// Returns the HTTP status that carries it.
            pub fn http_status(self) -> u16 {
                match self { $(ErrorCode::$variant => $status,)* }
            }

            /// Returns what a client is to do.
            pub fn disposition(self) -> Disposition {
                match self { $(ErrorCode::$variant => Disposition::$disposition,)* }
            }
        }
    };
}

error_codes! {
    /// The request cannot be read: not JSON, a field that is unknown or missing, a header that makes no sense.
    MalformedRequest = "malformed_request", 400, GiveUp;
    /// The client speaks a protocol version that is no longer or not yet served.
    UnsupportedProtocolVersion = "unsupported_protocol_version", 426, GiveUp;
    /// The body is of another type than the endpoint takes, or is encoded (compressed).
    UnsupportedMediaType = "unsupported_media_type", 415, GiveUp;
    /// The body is larger than the endpoint's limit.
    PayloadTooLarge = "payload_too_large", 413, GiveUp;
    /// There is no such endpoint.
    EndpointUnknown = "endpoint_unknown", 404, GiveUp;
    /// The endpoint does not know this method.
    MethodNotAllowed = "method_not_allowed", 405, GiveUp;
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", 408, Retry;
    /// Too many requests from this client.
    RateLimited = "rate_limited", 429, Retry;
    /// The coordinator has too much to do, or is shutting down.
    Overloaded = "overloaded", 503, Retry;
    /// Something failed inside; the log has the reason.
    Internal = "internal", 500, Retry;
    /// The request is not signed.
    SignatureMissing = "signature_missing", 401, GiveUp;
    /// The signature does not fit the request and the client's key.
    SignatureInvalid = "signature_invalid", 401, GiveUp;
    /// The request was signed too long ago or in the future; sign again with the server's time.
    ClockSkew = "clock_skew", 401, Retry;
    /// The nonce was used before; sign again with a fresh one.
    RequestReplayed = "request_replayed", 401, Retry;
    /// No client has this id; enrol again.
    ClientUnknown = "client_unknown", 401, GiveUp;
    /// The client's key was revoked.
    ClientRevoked = "client_revoked", 403, GiveUp;
    /// The enrolment token is not known.
    EnrolmentTokenInvalid = "enrolment_token_invalid", 403, GiveUp;
    /// The enrolment token has expired.
    EnrolmentTokenExpired = "enrolment_token_expired", 403, GiveUp;
    /// The enrolment token was used as often as it may be.
    EnrolmentTokenExhausted = "enrolment_token_exhausted", 403, GiveUp;
    /// The enrolment token enrols no new clients, because one that had enrolled with it was revoked.
    EnrolmentTokenClosed = "enrolment_token_closed", 403, GiveUp;
    /// The request carries no API key.
    ApiKeyMissing = "api_key_missing", 401, GiveUp;
    /// The API key is not known, or was revoked.
    ApiKeyInvalid = "api_key_invalid", 401, GiveUp;
    /// The API key's role may not do this.
    RoleInsufficient = "role_insufficient", 403, GiveUp;
    /// There is no such assignment for this client.
    AssignmentUnknown = "assignment_unknown", 404, CheckIn;
    /// The assignment's deadline has passed, or it was given up.
    AssignmentExpired = "assignment_expired", 410, CheckIn;
    /// The round has closed without this update.
    RoundClosed = "round_closed", 410, CheckIn;
    /// There is no such blob, or no assignment of this client needs it.
    BlobUnknown = "blob_unknown", 404, CheckIn;
    /// The range lies outside the blob.
    RangeNotSatisfiable = "range_not_satisfiable", 416, GiveUp;
    /// The coordinator has another number of bytes; go on from there.
    UploadOffsetMismatch = "upload_offset_mismatch", 409, Retry;
    /// Another request is sending this update now.
    UploadBusy = "upload_busy", 409, Retry;
    /// The update is shorter or longer than the plan's model makes it.
    UploadLengthInvalid = "upload_length_invalid", 422, CheckIn;
    /// The bytes do not have the digest that was announced; send them again from the start.
    UpdateDigestMismatch = "update_digest_mismatch", 422, Retry;
    /// Another update was already begun or accepted for this assignment.
    UpdateConflict = "update_conflict", 409, CheckIn;
    /// The update's header cannot be read, or does not belong to this assignment.
    UpdateMalformed = "update_malformed", 422, CheckIn;
    /// The update's format or codec is not the plan's.
    UpdateCodecUnsupported = "update_codec_unsupported", 422, CheckIn;
    /// The update's tensors are not the model's: count, names, shapes or order differ.
    UpdateSchemaMismatch = "update_schema_mismatch", 422, CheckIn;
    /// The update is based on another model version than the assignment's.
    UpdateVersionMismatch = "update_version_mismatch", 422, CheckIn;
    /// The weight is 0 or above the plan's limit.
    UpdateWeightOutOfRange = "update_weight_out_of_range", 422, CheckIn;
    /// A metric is not finite, or impossible.
    UpdateMetricInvalid = "update_metric_invalid", 422, CheckIn;
    /// A value is NaN or infinite.
    UpdateValueNotFinite = "update_value_not_finite", 422, CheckIn;
    /// A value is larger than the plan's grid allows.
    UpdateValueOutOfRange = "update_value_out_of_range", 422, CheckIn;
    /// The update's L2 norm on the grid is above the assignment's clipping norm.
    UpdateNormTooLarge = "update_norm_too_large", 422, CheckIn;
    /// There is no such task.
    TaskUnknown = "task_unknown", 404, GiveUp;
    /// The task's description has faults; the detail lists them all.
    TaskInvalid = "task_invalid", 422, GiveUp;
    /// The task is in a state in which this cannot be done.
    TaskStateConflict = "task_state_conflict", 409, GiveUp;
    /// The model is not an ONNX file that can be trained; the detail names the node.
    ModelInvalid = "model_invalid", 422, GiveUp;
    /// There is no such round.
    RoundUnknown = "round_unknown", 404, GiveUp;
    /// There is no such model version.
    ModelVersionUnknown = "model_version_unknown", 404, GiveUp;
    /// There is no such token, API key or client.
    ResourceUnknown = "resource_unknown", 404, GiveUp;
    /// The population is in a state in which this cannot be done.
    PopulationStateConflict = "population_state_conflict", 409, GiveUp;
    /// Something of this name exists already.
    NameTaken = "name_taken", 409, GiveUp;
    /// The key is the last one of an admin: without it nobody could hand out keys. Create another first.
    LastAdminKey = "last_admin_key", 409, GiveUp;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is no error code of this build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no error code of this version")]
pub struct UnknownErrorCodeError(String);

impl FromStr for ErrorCode {
    type Err = UnknownErrorCodeError;

    fn from_str(text: &str) -> Result<Self, UnknownErrorCodeError> {
        let found = Self::ALL.iter().find(|code| code.as_str() == text);
        found.copied().ok_or_else(|| UnknownErrorCodeError(text.chars().take(64).collect()))
    }
}

// Derived, both would have every text once more, and a browser would load them.
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
