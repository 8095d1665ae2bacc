//! The end of every sign-in with an identity provider.

use axum::http::request::Parts;
use folkmoot_protocol::{ErrorCode, OrganisationId};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_sign_in::{Person, Provider, SignInError};
use folkmoot_storage::{PersonRecord, SessionRecord, SessionRepository, audit::on_behalf_of};

use super::refusal::refusal;
use crate::http::{
    App,
    admin::{
        access,
        session::begin::begin,
        who::{Who, person_text},
    },
};

/// Starts a session for the person whom the provider confirms, or records a person without a role.
pub async fn enter(
    app: &App,
    parts: &Parts,
    provider: &Provider,
    organisation_id: OrganisationId,
    confirmed: Result<Person, SignInError>,
) -> Result<(Credential, SessionRecord), Refusal> {
    match confirmed {
        Ok(Person { subject, name, role, expires_at, renewal }) => {
            let provider = provider.name().to_owned();
            let person = PersonRecord { organisation_id, provider, subject, name, role };
            begin(app, parts, &Who::Person(person), expires_at, renewal.as_ref()).await
        }
        Err(error) => {
            if let SignInError::NoRole { subject, name } = &error {
                let person = person_text(provider.name(), subject, name);
                record_refused(app, parts, organisation_id, &person).await?;
            }
            Err(refusal(&error))
        }
    }
}

/// Finds the organisation of a provider. Its name is in the configuration, and the organisation may have been created
/// later.
pub async fn organisation_of(app: &App, provider: &Provider) -> Result<OrganisationId, Refusal> {
    let all = app.coordinator.storage.database()?.organisations().await?;
    let open = all.into_iter().find(|one| one.name == provider.organisation() && one.closed_at.is_none());
    open.map(|one| one.id).ok_or_else(|| {
        let detail = format!(
            "the provider {} is for the organisation {}, which does not exist or is closed; create it, or change \
             sign_in.providers",
            provider.name(),
            provider.organisation()
        );
        Refusal::new(ErrorCode::ResourceUnknown, detail)
    })
}

/// Records a person without a role in the audit log. Anybody could cause other failures, and fill the log with them.
async fn record_refused(
    app: &App,
    parts: &Parts,
    organisation_id: OrganisationId,
    person: &str,
) -> Result<(), Refusal> {
    let actor = access::actor_of(app, parts, person.to_owned());
    let recorded = app.coordinator.storage.record_refused_person(organisation_id, person);
    Ok(on_behalf_of(actor, recorded).await?)
}
