use folkmoot_protocol::{ErrorCode, OrganisationId, is_control};

use crate::{coordinator::Coordinator, refusal::Refusal};

/// Checks that a client's certificate belongs to the client's organisation, or to that of its token. `named` has the
/// organisations in the certificate's subject. A certificate without any is good for every organisation.
///
/// # Errors
/// [`ErrorCode::ClientCertificateInvalid`] if the certificate names another organisation. Also fails if the storage
/// fails.
pub async fn check_organisation(
    coordinator: &Coordinator,
    organisation: OrganisationId,
    named: &[String],
) -> Result<(), Refusal> {
    if named.is_empty() {
        return Ok(());
    }
    let name = coordinator.tenants.name(&coordinator.storage, organisation).await?;
    if named.iter().all(|named| **named == *name) {
        return Ok(());
    }
    // The name stays unsaid: whoever has only a token need not learn whose it is.
    let detail = format!(
        "the client certificate is for {}, which is not the name of the organisation that the client or its token \
         belongs to; use a certificate of that organisation, or one without an organisation in its subject",
        named.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(" and ")
    );
    Err(Refusal::new(ErrorCode::ClientCertificateInvalid, detail))
}

/// Shortens a name from a certificate for an error, and replaces its control characters.
fn shown(name: &str) -> String {
    const CHARACTERS_MAX: usize = 128;
    let characters = name.chars().take(CHARACTERS_MAX);
    characters.map(|letter| if is_control(letter) { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}
