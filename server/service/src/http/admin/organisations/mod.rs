//! Organisations, for system administrators.

pub(crate) mod close;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod set_quotas;

use folkmoot_api::organisations::OrganisationView;
use folkmoot_storage::OrganisationRecord;

fn organisation_view(record: OrganisationRecord) -> OrganisationView {
    let OrganisationRecord { id, name, created_at, closed_at, quotas } = record;
    OrganisationView { id, name, created_at, closed_at, quotas: quotas.into() }
}
