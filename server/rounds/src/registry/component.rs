use std::sync::Arc;

use bytes::Bytes;
use folkmoot_component::ComponentSource;
use folkmoot_coordinator::task::{Fault, TaskDescription};
use folkmoot_protocol::{BlobDigest, ErrorCode};
use folkmoot_strategy::{COMPONENT_BYTES_MAX, Compiled, Role, StrategyError};

use crate::{
    components::{LoadError, choices, fault, load},
    coordinator::Coordinator,
    refusal::Refusal,
};

/// The roles of a component that was uploaded.
pub struct UploadedComponent {
    /// The digest by which tasks name the component.
    pub digest: BlobDigest,
    /// The roles that it can play.
    pub roles: Vec<Role>,
}

/// Stores a component. Storing the same component again changes nothing.
///
/// # Errors
/// Fails if the bytes are no component with a known role, this build cannot run components, or the blob store fails.
pub async fn create_component(coordinator: &Coordinator, bytes: Bytes) -> Result<UploadedComponent, Refusal> {
    let malformed = |error: StrategyError| Refusal::new(ErrorCode::MalformedRequest, error.to_string());
    if bytes.len() > COMPONENT_BYTES_MAX {
        return Err(malformed(StrategyError::TooLarge(bytes.len())));
    }
    let digest = BlobDigest::of(&bytes);
    let compiled = match coordinator.strategies.found(digest) {
        Some(compiled) => compiled,
        None => {
            let read = bytes.clone();
            let compiled = tokio::task::spawn_blocking(move || Compiled::new(&read)).await;
            Arc::new(compiled.map_err(|error| Refusal::internal(&error))?.map_err(malformed)?)
        }
    };
    let roles = compiled.roles();
    if roles.is_empty() {
        let message = "the component exports none of folkmoot:strategy/selection@0.1.0, aggregator and finalizer; write it against \
                       strategy.wit";
        return Err(Refusal::new(ErrorCode::MalformedRequest, message));
    }
    coordinator.blobs.put(bytes).await?;
    // Keep only a component that is stored: a task must find it after a restart.
    coordinator.strategies.keep(digest, compiled);
    Ok(UploadedComponent { digest, roles })
}

/// Lists the faults of a new task's components: a component that was not uploaded, has another role, or refuses its settings. A
/// component whose table has one of the `known` faults is not run, because its limits may be wrong.
///
/// # Errors
/// Fails if the blob store fails.
pub(super) async fn component_faults(
    coordinator: &Coordinator,
    description: &TaskDescription,
    known: &[Fault],
) -> Result<Vec<Fault>, Refusal> {
    let mut faults = Vec::new();
    let is_right = |role: Role| !known.iter().any(|fault| fault.field.starts_with(role.name()));
    for (role, component) in choices(description).into_iter().filter(|(role, _)| is_right(*role)) {
        let field = format!("{role}.component");
        let ComponentSource::Digest(digest) = component.component else {
            let message = format!("{} is a file's path", component.component);
            let remedy = "upload the file with POST /v1/admin/components, and give its digest; `folkmoot task create` does both";
            faults.push(Fault::new(&field, message, remedy));
            continue;
        };
        // A component may be compiled already without being stored.
        if !coordinator.blobs.exists(digest).await? {
            let message = format!("no component with the digest {digest} was uploaded");
            faults.push(Fault::new(&field, message, "upload it with POST /v1/admin/components first"));
            continue;
        }
        match load(coordinator, digest, component).await {
            Ok(strategy) => {
                let checked = tokio::task::spawn_blocking(move || strategy.check(role)).await;
                let checked = checked.map_err(|error| Refusal::internal(&error))?;
                faults.extend(checked.err().map(|error| fault(role, &error)));
            }
            Err(LoadError::Strategy(error)) => faults.push(fault(role, &error)),
            Err(error) => return Err(Refusal::internal(&error)),
        }
    }
    Ok(faults)
}
