//! Privacy officers. While an organisation has one, only privacy officers weaken its promises of privacy, and only they
//! create and revoke keys of privacy officers. So an admin who runs the tasks cannot also raise their budget.

use folkmoot_protocol::{ErrorCode, Role};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::ApiKeyRepository;

use super::access::Caller;
use crate::http::App;

/// Refuses a caller who is not a privacy officer, if the organisation has one.
///
/// # Errors
/// [`ErrorCode::RoleInsufficient`] if only a privacy officer may do this. `act` says what it is.
pub async fn check(app: &App, caller: &Caller, act: &str) -> Result<(), Refusal> {
    if caller.role == Role::PrivacyOfficer || !has_officer(app, caller).await? {
        return Ok(());
    }
    let detail = format!(
        "only a privacy officer may {act}, because this organisation has one, but the {} has the role {}; ask a privacy \
         officer",
        caller.who,
        caller.role.name()
    );
    Err(Refusal::new(ErrorCode::RoleInsufficient, detail))
}

/// Returns whether a key of the organisation that was not revoked, or a group of its identity providers, has the role. An
/// expired key counts, so that nobody has to wait for an officer's key to expire.
async fn has_officer(app: &App, caller: &Caller) -> Result<bool, Refusal> {
    let storage = &app.coordinator.storage;
    let keys = storage.api_keys(caller.organisation_id).await?;
    if keys.iter().any(|key| key.role == Role::PrivacyOfficer && key.revoked_at.is_none()) {
        return Ok(true);
    }
    let organisations = app.providers.with_role(Role::PrivacyOfficer);
    if organisations.is_empty() {
        return Ok(false);
    }
    let all = storage.database()?.organisations().await?;
    Ok(all.iter().any(|one| one.id == caller.organisation_id && organisations.contains(&one.name.as_str())))
}
