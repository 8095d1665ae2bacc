pub(crate) mod device;
mod form;
mod renew;

use std::{collections::BTreeMap, sync::Arc};

use chrono::{DateTime, Utc};
use folkmoot_protocol::{Role, Timestamp};
use openidconnect::{
    AuthenticationFlow, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    IssuerUrl, LogoutRequest, Nonce, NonceVerifier, PkceCodeChallenge, PkceCodeVerifier,
    PostLogoutRedirectUrl, RedirectUrl, RequestTokenError, Scope, SignatureVerificationError, TokenResponse,
    core::CoreResponseType,
};

use crate::{
    Attempt, Person, ProviderConfig, RefreshToken, Renewal, SignInConfigError, SignInError, claims,
    client::{ALGORITHMS, OidcClient, Tokens, client},
    http::{Http, HttpLimits},
    metadata::{Cache, Metadata, with_cause},
};

/// The longest subject, in characters. OpenID Connect Core 1.0, section 2, sets this limit.
const SUBJECT_CHARACTERS_MAX: usize = 255;
/// The longest time by which the provider's clock may be ahead, in seconds.
const CLOCK_SKEW_SECONDS: u64 = 300;

/// The times of a person's session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionTimes {
    /// The longest duration, in seconds.
    pub seconds_max: u64,
    /// The interval at which the provider is asked again, in seconds.
    pub refresh_seconds: u64,
}

/// An identity provider of one organisation.
#[derive(Debug)]
pub struct Provider {
    name: String,
    organisation: String,
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    scopes: Vec<Scope>,
    groups_claim: String,
    roles: BTreeMap<String, Role>,
    times: SessionTimes,
    coordinator: String,
    redirect: RedirectUrl,
    http: Http,
    cache: Cache,
}

impl Provider {
    /// Creates a provider from its configuration, which must have been checked. Reads the files that it names and
    /// sends no request.
    ///
    /// `coordinator` is the address of the coordinator, without a slash at its end.
    pub(crate) fn new(
        config: &ProviderConfig,
        coordinator: &str,
        times: SessionTimes,
        environment: &dyn Fn(&str) -> Option<String>,
        limits: HttpLimits,
    ) -> Result<Self, SignInConfigError> {
        let ca_pem = config.ca_file.as_ref().map(|path| {
            let failed = |error| format!("{} cannot be read: {error}; give an existing file", path.display());
            std::fs::read(path).map_err(|error| config.error("ca_file", failed(error)))
        });
        let redirect = format!("{coordinator}/v1/admin/sign-in/{}/callback", config.name);
        let http = Http::new(ca_pem.transpose()?.as_deref(), limits)
            .map_err(|message| config.error("ca_file", message))?;
        Ok(Self {
            name: config.name.clone(),
            organisation: config.organisation.clone(),
            issuer: IssuerUrl::new(config.issuer.clone())
                .map_err(|error| config.error("issuer", error.to_string()))?,
            client_id: ClientId::new(config.client_id.clone()),
            client_secret: secret(config, environment)?.map(ClientSecret::new),
            scopes: config.scopes.iter().cloned().map(Scope::new).collect(),
            groups_claim: config.groups_claim.clone(),
            roles: config.roles.clone(),
            times,
            coordinator: coordinator.to_owned(),
            redirect: RedirectUrl::new(redirect)
                .map_err(|error| SignInConfigError::at("url", error.to_string()))?,
            http,
            cache: Cache::default(),
        })
    }

    /// Returns the provider's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the organisation that people of this provider belong to.
    pub fn organisation(&self) -> &str {
        &self.organisation
    }

    /// Returns whether one of the groups has the role `role`.
    pub(crate) fn gives(&self, role: Role) -> bool {
        self.roles.values().any(|given| *given == role)
    }

    /// Returns the address at the provider where a person signs in: the authorization code flow with PKCE.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`] if the provider's documents cannot be fetched.
    pub async fn authorization_url(&self, attempt: &Attempt, now: Timestamp) -> Result<String, SignInError> {
        let metadata = self.metadata(None, now).await?;
        let client = self.client(&metadata);
        let verifier = PkceCodeVerifier::new(attempt.verifier(&self.name));
        let state = CsrfToken::new(attempt.state(&self.name));
        let nonce = Nonce::new(attempt.nonce(&self.name));
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let (url, _, _) = client
            .authorize_url(flow, || state, || nonce)
            .add_scopes(self.scopes.iter().cloned())
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        Ok(url.into())
    }

    /// Exchanges the code that the provider sent to the browser for the person's identity.
    ///
    /// # Errors
    /// [`SignInError::Unverified`] if `state` belongs to another attempt, or if the provider refuses the code or its ID
    /// token is not valid; [`SignInError::NoRole`] if no group of the person has a role;
    /// [`SignInError::Unavailable`] if the provider cannot be reached.
    pub async fn person(
        &self,
        attempt: &Attempt,
        state: &str,
        code: &str,
        now: Timestamp,
    ) -> Result<Person, SignInError> {
        if state != attempt.state(&self.name) {
            return Err(SignInError::unverified("the answer belongs to another attempt to sign in"));
        }
        let metadata = self.metadata(None, now).await?;
        let client = self.client(&metadata);
        let request = client.exchange_code(AuthorizationCode::new(code.to_owned()));
        let verifier = PkceCodeVerifier::new(attempt.verifier(&self.name));
        let request = request.map_err(SignInError::unavailable)?.set_pkce_verifier(verifier);
        let tokens = request.request_async(&self.http).await.map_err(|error| match error {
            RequestTokenError::ServerResponse(refusal) => SignInError::unverified(refusal),
            RequestTokenError::Request(error) => SignInError::unavailable(error),
            error => SignInError::unavailable(with_cause(&error)),
        })?;
        let nonce = Nonce::new(attempt.nonce(&self.name));
        self.verified(&tokens, &metadata, &nonce, now).await
    }

    /// Returns the address at the provider where a person signs out; `None` if the provider has none or cannot be
    /// reached.
    pub async fn sign_out_url(&self, now: Timestamp) -> Option<String> {
        let metadata = self.metadata(None, now).await.ok()?;
        let endpoint = metadata.additional_metadata().end_session_endpoint.clone()?;
        let back = PostLogoutRedirectUrl::new(format!("{}/console/", self.coordinator)).ok()?;
        let request = LogoutRequest::from(endpoint).set_client_id(self.client_id.clone());
        Some(request.set_post_logout_redirect_uri(back).http_get_url().into())
    }

    /// Fetches the provider's discovery document and keys, to find out whether it can be reached.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`] if the documents cannot be fetched.
    pub async fn check(&self, now: Timestamp) -> Result<(), SignInError> {
        self.metadata(None, now).await.map(|_| ())
    }

    async fn metadata(
        &self,
        outdated: Option<&Arc<Metadata>>,
        now: Timestamp,
    ) -> Result<Arc<Metadata>, SignInError> {
        self.cache.get(&self.issuer, &self.http, outdated, now).await
    }

    fn client(&self, metadata: &Metadata) -> OidcClient {
        client(metadata.clone(), self.client_id.clone(), self.client_secret.clone())
            .set_redirect_uri(self.redirect.clone())
    }

    /// Verifies the ID token. If its key is unknown, the provider may have new keys: fetches them once.
    async fn verified(
        &self,
        tokens: &Tokens,
        metadata: &Arc<Metadata>,
        nonce: impl NonceVerifier + Copy,
        now: Timestamp,
    ) -> Result<Person, SignInError> {
        use SignatureVerificationError::NoMatchingKey;
        match self.claims(tokens, metadata, nonce, now) {
            Err(ClaimsVerificationError::SignatureVerification(NoMatchingKey)) => {
                let newer = self.metadata(Some(metadata), now).await?;
                self.claims(tokens, &newer, nonce, now)
            }
            claims => claims,
        }
        .map_err(|error| SignInError::unverified(with_cause(&error)))
        .and_then(|claims| self.person_of(&claims, tokens, now))
    }

    fn claims(
        &self,
        tokens: &Tokens,
        metadata: &Metadata,
        nonce: impl NonceVerifier,
        now: Timestamp,
    ) -> Result<claims::Claims, ClaimsVerificationError> {
        let missing = || ClaimsVerificationError::Other("the provider sent no ID token".into());
        let token = tokens.id_token().ok_or_else(missing)?;
        let time = time_of(now);
        let client = self.client(metadata);
        let verifier = client
            .id_token_verifier()
            .set_allowed_algs(ALGORITHMS)
            .set_time_fn(|| time)
            .set_issue_time_verifier_fn(|issued_at| {
                match issued_at > time_of(now.plus_seconds(CLOCK_SKEW_SECONDS)) {
                    true => Err("the ID token was issued in the future; compare the clocks".into()),
                    false => Ok(()),
                }
            });
        token.claims(&verifier, nonce).cloned()
    }

    fn person_of(
        &self,
        claims: &claims::Claims,
        tokens: &Tokens,
        now: Timestamp,
    ) -> Result<Person, SignInError> {
        let subject = claims.subject().as_str();
        let is_plain = subject.chars().all(|letter| !folkmoot_protocol::is_control(letter));
        if subject.is_empty() || subject.chars().count() > SUBJECT_CHARACTERS_MAX || !is_plain {
            let reason = format!("the subject is not 1 to {SUBJECT_CHARACTERS_MAX} printable characters");
            return Err(SignInError::unverified(reason));
        }
        let (subject, name) = (subject.to_owned(), claims::name(claims));
        let Some(role) = claims::role(claims, &self.groups_claim, &self.roles) else {
            return Err(SignInError::NoRole { subject, name });
        };
        let confirmed_until = Timestamp(u64::try_from(claims.expiration().timestamp_millis()).unwrap_or(0));
        let renewal = RefreshToken::of(tokens).map(|token| Renewal {
            at: confirmed_until.min(now.plus_seconds(self.times.refresh_seconds)),
            confirmed_until,
            token,
        });
        let longest = now.plus_seconds(self.times.seconds_max);
        let expires_at = if renewal.is_some() { longest } else { longest.min(confirmed_until) };
        Ok(Person { subject, name, role, expires_at, renewal })
    }
}

/// Reads the client secret.
fn secret(
    config: &ProviderConfig,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, SignInConfigError> {
    let (key, secret) = match (&config.client_secret_file, &config.client_secret_variable) {
        (Some(path), _) => {
            let failed = |error| format!("{} cannot be read: {error}; give an existing file", path.display());
            let read = std::fs::read_to_string(path);
            ("client_secret_file", read.map_err(|error| config.error("client_secret_file", failed(error)))?)
        }
        (None, Some(variable)) => {
            let unset = || {
                let message = format!("the environment variable {variable} is not set; set it to the secret");
                config.error("client_secret_variable", message)
            };
            ("client_secret_variable", environment(variable).ok_or_else(unset)?)
        }
        (None, None) => return Ok(None),
    };
    match secret.trim() {
        "" => Err(config.error(key, "the secret is empty; put the secret that the provider shows there")),
        secret => Ok(Some(secret.to_owned())),
    }
}

/// Converts to the type of `openidconnect`.
fn time_of(timestamp: Timestamp) -> DateTime<Utc> {
    let milliseconds = i64::try_from(timestamp.0).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(milliseconds).unwrap_or(DateTime::<Utc>::MAX_UTC)
}
