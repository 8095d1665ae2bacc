use axum::http::request::Parts;
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_sign_in::Renewal;
use folkmoot_storage::{SessionHolder, SessionRecord, SessionRepository, audit::on_behalf_of};

use crate::http::{
    App,
    admin::{access, renewal::sealed, who::Who},
};

/// Starts a session, on behalf of the person or key that signs in. Every way to sign in ends here.
pub async fn begin(
    app: &App,
    parts: &Parts,
    who: &Who,
    expires_at: Timestamp,
    renewal: Option<&Renewal>,
) -> Result<(Credential, SessionRecord), Refusal> {
    let coordinator = &app.coordinator;
    let session = Credential::from_random_bytes(coordinator.random_bytes(), coordinator.random_bytes());
    let record = SessionRecord {
        id: session.id.clone(),
        holder: match who {
            Who::ApiKey { id, .. } => SessionHolder::ApiKey(id.clone()),
            Who::Person(person) => SessionHolder::Person(person.clone()),
        },
        secret_hash: session.secret_hash(),
        created_at: (app.clock)(),
        expires_at,
        renewal: renewal.map(|renewal| sealed(app, &session, renewal)),
        used_at: None,
    };
    let actor = access::actor(app, parts, who);
    on_behalf_of(actor, coordinator.storage.create_session(&record)).await?;
    tracing::info!(by = %who, "signed in");
    Ok((session, record))
}
