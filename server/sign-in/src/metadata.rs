//! A provider's discovery document and keys, in a cache.

use std::sync::Arc;

use folkmoot_protocol::Timestamp;
use openidconnect::{
    AdditionalProviderMetadata, DeviceAuthorizationUrl, EndSessionUrl, IssuerUrl, ProviderMetadata,
    RevocationUrl,
    core::{
        CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
        CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode, CoreResponseType,
        CoreSubjectIdentifierType,
    },
};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::{SignInError, http::Http};

/// The age at which documents are fetched again, in seconds.
const FRESH_SECONDS: u64 = 3600;
/// The time after a failed request in which no other is sent, in seconds. Anybody can start a sign-in.
const PAUSE_SECONDS: u64 = 5;

/// The endpoints that OpenID Connect Discovery does not name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MoreEndpoints {
    /// A person signs out here (RP-Initiated Logout).
    pub end_session_endpoint: Option<EndSessionUrl>,
    /// A program begins a sign-in without a browser here (RFC 8628).
    pub device_authorization_endpoint: Option<DeviceAuthorizationUrl>,
    /// The coordinator revokes a refresh token here (RFC 7009).
    pub revocation_endpoint: Option<RevocationUrl>,
}

impl AdditionalProviderMetadata for MoreEndpoints {}

/// The discovery document with the keys.
pub(crate) type Metadata = ProviderMetadata<
    MoreEndpoints,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// The documents of one provider, and the time of the last request for them.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    metadata: Option<Arc<Metadata>>,
    fetched_at: Timestamp,
    failed: Option<(SignInError, Timestamp)>,
}

impl Cache {
    /// Returns the documents, and fetches them if there are none or they are old. Concurrent callers share one
    /// request.
    ///
    /// `outdated` are documents in which a key was missing: they are not returned if newer ones can be fetched.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`] if the documents cannot be fetched.
    pub async fn get(
        &self,
        issuer: &IssuerUrl,
        http: &Http,
        outdated: Option<&Arc<Metadata>>,
        now: Timestamp,
    ) -> Result<Arc<Metadata>, SignInError> {
        let mut kept = self.0.lock().await;
        let is_current = |metadata: &Arc<Metadata>| outdated.is_none_or(|old| !Arc::ptr_eq(old, metadata));
        let is_fresh = now < kept.fetched_at.plus_seconds(FRESH_SECONDS);
        if let Some(metadata) = kept.metadata.as_ref().filter(|metadata| is_fresh && is_current(metadata)) {
            return Ok(metadata.clone());
        }
        if let Some((error, at)) = &kept.failed
            && now < at.plus_seconds(PAUSE_SECONDS)
        {
            return Err(error.clone());
        }
        match Metadata::discover_async(issuer.clone(), http).await {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                *kept = Kept { metadata: Some(metadata.clone()), fetched_at: now, failed: None };
                Ok(metadata)
            }
            Err(error) => {
                let error = SignInError::unavailable(with_cause(&error));
                kept.failed = Some((error.clone(), now));
                Err(error)
            }
        }
    }
}

/// Joins an error and its cause.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
