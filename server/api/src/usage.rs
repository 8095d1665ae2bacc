//! The quotas of organisations, and the usage of their clients.

use folkmoot_coordinator::tenancy::Quotas;
use folkmoot_protocol::OrganisationId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The quotas of an organisation. Null is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuotasView {
    /// The largest number of clients that are not revoked. More cannot enrol.
    #[schema(maximum = 9007199254740992_u64)]
    pub clients_max: Option<u64>,
    /// The largest number of tasks that have not ended. More cannot be created.
    #[schema(maximum = 9007199254740992_u64)]
    pub tasks_max: Option<u64>,
    /// The largest size of all models and versions, in bytes. If it is reached, models cannot be uploaded and tasks cannot
    /// be created; running tasks continue.
    #[schema(maximum = 9007199254740992_u64)]
    pub stored_bytes_max: Option<u64>,
    /// The bytes that clients may send and receive on one day (UTC). If they are used up, clients wait for the next day.
    #[schema(maximum = 9007199254740992_u64)]
    pub bytes_per_day_max: Option<u64>,
    /// The rate of all clients' requests together, for each process of the coordinator. Short bursts may be faster.
    pub requests_per_second_max: Option<u32>,
}

impl From<Quotas> for QuotasView {
    fn from(quotas: Quotas) -> Self {
        let Quotas { clients_max, tasks_max, stored_bytes_max, bytes_per_day_max, requests_per_second_max } =
            quotas;
        Self { clients_max, tasks_max, stored_bytes_max, bytes_per_day_max, requests_per_second_max }
    }
}

impl From<QuotasView> for Quotas {
    fn from(view: QuotasView) -> Self {
        let QuotasView {
            clients_max,
            tasks_max,
            stored_bytes_max,
            bytes_per_day_max,
            requests_per_second_max,
        } = view;
        Self { clients_max, tasks_max, stored_bytes_max, bytes_per_day_max, requests_per_second_max }
    }
}

/// An organisation's quotas, its current size, and the usage of its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// The quotas.
    pub quotas: QuotasView,
    /// The number of clients that are not revoked.
    pub clients: u64,
    /// The number of tasks that have not ended.
    pub tasks: u64,
    /// The size of all models and versions, in bytes.
    pub stored_bytes: u64,
    /// The days on which clients used something, oldest first.
    pub days: Vec<DayUsageView>,
}

/// The usage by an organisation's clients on one day (UTC).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayUsageView {
    /// The day: `2026-01-31`.
    pub day: String,
    /// The organisation's id.
    pub organisation_id: OrganisationId,
    /// The organisation's name.
    pub organisation: String,
    /// Requests of enrolled clients, and enrolments with a valid token. Refused by a quota, they do not count.
    pub requests: u64,
    /// The bytes of the bodies that clients sent, without compressed updates of private tasks, whose length depends on
    /// their values.
    pub received_bytes: u64,
    /// The bytes of models, weights and plans that clients fetched.
    pub sent_bytes: u64,
    /// Accepted updates.
    pub updates: u64,
}
