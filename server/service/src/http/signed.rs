use axum::{
    body::Body,
    http::{HeaderMap, Request, request::Parts},
};
use folkmoot_edge::{Budget, tls::certificate_of};
use folkmoot_protocol::{
    ErrorCode, Timestamp, UpdateDigest,
    headers::{self, AUDIENCE},
    limits::CONTROL_BYTES_MAX,
    signing::SignedParts,
};
use folkmoot_rounds::{
    device::{Claimed, check_organisation, check_signature},
    refusal::Refusal,
};
use folkmoot_storage::ClientRecord;
use serde::de::DeserializeOwned;

use super::{
    App,
    body::{self, Held},
};

/// The first protocol version whose requests name the coordinator that they are for.
const AUDIENCE_SINCE: u16 = 2;

/// An authenticated client's request, with its body.
pub struct Signed<T> {
    /// The client that signed the request.
    pub client: ClientRecord,
    /// The parsed body.
    pub message: T,
    /// When the request was verified.
    pub now: Timestamp,
}

/// Verifies a request, then reads its JSON body. The signature covers the body's digest, so no body is read before
/// its sender is authenticated.
pub async fn json<T: DeserializeOwned>(app: &App, request: Request<Body>) -> Result<Signed<T>, Refusal> {
    json_within(app, request, CONTROL_BYTES_MAX).await
}

/// Like [`json`], for a body of at most this number of bytes.
pub async fn json_within<T: DeserializeOwned>(
    app: &App,
    request: Request<Body>,
    bytes_max: usize,
) -> Result<Signed<T>, Refusal> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/json")?;
    let (client, body) = authenticate_before(app, &parts, None, body).await?;
    let bytes = read(app, &parts, body, bytes_max, &app.edge.known).await?;
    let now = (app.clock)();
    app.coordinator.tenants.received(client.organisation_id, bytes.len() as u64, now);
    Ok(Signed { client, message: body::json(&bytes)?, now })
}

/// Verifies a request without a body.
pub async fn empty(app: &App, request: Request<Body>) -> Result<Signed<()>, Refusal> {
    let (parts, body) = request.into_parts();
    let client = authenticate(app, &parts, None).await?;
    read(app, &parts, body, 0, &app.edge.known).await?;
    Ok(Signed { client, message: (), now: (app.clock)() })
}

/// Reads the body of a control message, and checks that it matches the digest in the signed header.
pub async fn read(
    app: &App,
    parts: &Parts,
    body: Body,
    bytes_max: usize,
    budget: &Budget,
) -> Result<Held, Refusal> {
    let held = body::read(body, bytes_max, app.limits.control_timeout, budget).await?;
    if UpdateDigest::of(&held) != required(&parts.headers, headers::CONTENT_DIGEST)? {
        let detail = format!(
            "the body does not match the signed digest in the header {}; send the body that was signed",
            headers::CONTENT_DIGEST
        );
        return Err(Refusal::new(ErrorCode::SignatureInvalid, detail));
    }
    Ok(held)
}

/// Verifies a request's signature and returns its client. `upload` is the part of an upload that the signature
/// covers.
pub async fn authenticate(
    app: &App,
    parts: &Parts,
    upload: Option<(u64, u64)>,
) -> Result<ClientRecord, Refusal> {
    let named = certificate_of(&parts.extensions, (app.clock)()).map_err(Refusal)?;
    let client = authenticate_there(app, parts, upload).await?;
    check_organisation(&app.coordinator, client.organisation_id, named).await?;
    Ok(client)
}

/// Does the same for a request that has come to somebody else. The certificate of its connection is not checked.
pub async fn authenticate_there(
    app: &App,
    parts: &Parts,
    upload: Option<(u64, u64)>,
) -> Result<ClientRecord, Refusal> {
    app.authenticator.client(&app.coordinator, &claimed(app, parts, upload)?, (app.clock)()).await
}

/// Verifies that a client has signed a request, now or before. The request may have been verified before.
pub fn verify(
    app: &App,
    parts: &Parts,
    upload: Option<(u64, u64)>,
    client: &ClientRecord,
) -> Result<(), Refusal> {
    let claimed = claimed(app, parts, upload)?;
    check_signature(&client.public_key, &claimed)?;
    if claimed.parts.client == Some(client.id) {
        return Ok(());
    }
    Err(Refusal::new(ErrorCode::SignatureInvalid, "the request is signed for another client"))
}

fn claimed<'a>(app: &App, parts: &'a Parts, upload: Option<(u64, u64)>) -> Result<Claimed<'a>, Refusal> {
    let signature = text(&parts.headers, headers::SIGNATURE).ok_or_else(|| {
        Refusal::new(
            ErrorCode::SignatureMissing,
            "the request has no signature; sign it with the client's key",
        )
    })?;
    Ok(Claimed { parts: signed_parts(app, parts, upload)?, signature })
}

/// Verifies a request whose body is not read yet, and returns the body. If the coordinator cannot work now, discards the
/// body: a connection that is closed with unread bytes is reset, and the client would not get the answer.
///
/// # Errors
/// Refuses a request that is not signed by an enrolled client.
pub async fn authenticate_before(
    app: &App,
    parts: &Parts,
    upload: Option<(u64, u64)>,
    body: Body,
) -> Result<(ClientRecord, Body), Refusal> {
    match authenticate(app, parts, upload).await {
        Ok(client) => Ok((client, body)),
        Err(refusal) => {
            if refusal.code() == ErrorCode::Overloaded {
                body::discard(body).await;
            }
            Err(refusal)
        }
    }
}

/// Verifies that an enrolment is signed with the key in its own body, because the sender has no client id yet.
pub fn authenticate_enrolment(app: &App, parts: &Parts, public_key: &str) -> Result<(), Refusal> {
    let Claimed { parts: signed, signature } = claimed(app, parts, None)?;
    let claimed = Claimed { parts: SignedParts { client: None, ..signed }, signature };
    app.authenticator.check_enrolment(public_key, &claimed, (app.clock)())
}

/// Records the nonce of a verified enrolment, so that the request cannot be replayed.
pub async fn take_enrolment(app: &App, parts: &Parts, public_key: &str) -> Result<(), Refusal> {
    let nonce = text(&parts.headers, headers::NONCE).unwrap_or_default();
    app.authenticator.take_enrolment(public_key, nonce, (app.clock)()).await
}

fn signed_parts<'a>(
    app: &App,
    parts: &'a Parts,
    upload: Option<(u64, u64)>,
) -> Result<SignedParts<'a>, Refusal> {
    // Nested routers show handlers a shortened path, but the signature covers the original one.
    let original =
        parts.extensions.get::<axum::extract::OriginalUri>().map_or(&parts.uri, |original| &original.0);
    let path = original.path_and_query().map_or("/", |path| path.as_str());
    let client = text(&parts.headers, headers::CLIENT).map(|id| parse(headers::CLIENT, id)).transpose()?;
    let protocol = required(&parts.headers, headers::PROTOCOL)?;
    Ok(SignedParts {
        method: parts.method.as_str(),
        path,
        client,
        protocol,
        timestamp: Timestamp(required(&parts.headers, headers::TIMESTAMP)?),
        nonce: text(&parts.headers, headers::NONCE).unwrap_or_default(),
        content: required(&parts.headers, headers::CONTENT_DIGEST)?,
        upload,
        audience: audience(app, &parts.headers, protocol)?,
    })
}

/// Reads the name of the coordinator that a request is for, and checks that it is a name of this one. Requests of
/// protocol version 1 have none.
fn audience<'a>(app: &App, headers: &'a HeaderMap, protocol: u16) -> Result<Option<&'a str>, Refusal> {
    if protocol < AUDIENCE_SINCE {
        return Ok(None);
    }
    required::<String>(headers, AUDIENCE)?;
    let audience = text(headers, AUDIENCE).unwrap_or_default();
    app.names.check(audience).map(|()| Some(audience)).map_err(Refusal)
}

/// Reads a header that must occur exactly once.
pub fn required<T: std::str::FromStr>(headers: &HeaderMap, name: &'static str) -> Result<T, Refusal>
where
    T::Err: std::fmt::Display,
{
    let mut values = headers.get_all(name).iter();
    match (values.next().and_then(|value| value.to_str().ok()), values.next()) {
        (Some(value), None) => parse(name, value),
        (_, Some(_)) => Err(Refusal::new(
            ErrorCode::MalformedRequest,
            format!("the header {name} occurs more than once; send it once"),
        )),
        (None, _) => {
            Err(Refusal::new(ErrorCode::MalformedRequest, format!("the header {name} is missing; send it")))
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn parse<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Refusal>
where
    T::Err: std::fmt::Display,
{
    value.parse().map_err(|error| {
        Refusal::new(ErrorCode::MalformedRequest, format!("the header {name} is not valid: {error}"))
    })
}
