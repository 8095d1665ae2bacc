use std::collections::BTreeMap;

use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::populations::{ClientsView, ShareView};
use folkmoot_protocol::{ErrorCode, PopulationName, Problem, Timestamp};
use folkmoot_rounds::{privacy, refusal::Refusal};
use folkmoot_storage::{CheckInRepository, ClientRepository, PopulationRepository, WorkRecord};

use crate::http::{
    App,
    admin::{access::Caller, disclosure::Disclosure, read},
    problem::Refused,
};

/// The minimum number of clients in a group that is listed on its own.
const GROUP_MIN: u64 = 3;
/// The maximum number of groups that are listed for one attribute.
const VALUES_MAX: usize = 50;
/// The maximum number of recent client reports that a request reads.
const REPORTS_MAX: u32 = 10_000;
const REPORT_AGE_MILLISECONDS: u64 = 24 * 3_600_000;
/// The label of the group that combines all groups which are not listed.
const OTHER: &str = "other";

/// Returns aggregate figures about a population's clients, never about a single one.
#[utoipa::path(
    get, path = "/v1/admin/populations/{population}/clients", tag = "populations",
    security(("api_key" = ["viewer"])),
    params(("population" = String, Path, description = "The population's name")),
    responses(
        (status = 200, body = ClientsView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_clients(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
) -> Result<Json<ClientsView>, Refused> {
    let name: PopulationName = read::id(&population, ErrorCode::ResourceUnknown)?;
    let (storage, now) = (&app.coordinator.storage, (app.clock)());
    let organisation = caller.organisation_id;
    if storage.population(organisation, &name).await?.is_none() {
        let detail = format!("there is no population {name}; `folkmoot population list` shows all");
        return Err(Refusal::new(ErrorCode::ResourceUnknown, detail).into());
    }
    let database = storage.database()?;
    let is_sampled = privacy::sampled_now(&app.coordinator, organisation).await?.contains(&name);
    let was_sampled = is_sampled || privacy::was_sampled(&app.coordinator, organisation, &name).await?;
    let waiting = match is_sampled {
        true => Vec::new(),
        false => storage.waiting(organisation, &name, now).await?,
    };
    let disclosure = Disclosure::of_population(&app, organisation, &name).await?;
    let since = Timestamp(now.0.saturating_sub(REPORT_AGE_MILLISECONDS));
    let work = match was_sampled {
        true => Vec::new(),
        false => database.work(organisation, &name, since, REPORTS_MAX).await?,
    };
    let mut attributes: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let (mut sdk_versions, mut example_counts) = (BTreeMap::new(), BTreeMap::new());
    for candidate in &waiting {
        *sdk_versions.entry(candidate.sdk_version.clone()).or_default() += 1;
        *example_counts.entry(power_of_two(candidate.example_count)).or_default() += 1;
        for (attribute, value) in &candidate.attributes {
            *attributes.entry(attribute.clone()).or_default().entry(value.clone()).or_default() += 1;
        }
    }
    let mut speeds = BTreeMap::new();
    for speed in work.iter().filter_map(speed) {
        *speeds.entry(power_of_two(speed)).or_default() += 1;
    }
    let training = database.training_counts(organisation).await?;
    let revoked = database.revoked_counts(organisation).await?;
    Ok(Json(ClientsView {
        enrolled: storage.client_count(organisation, &name).await?,
        revoked: revoked.get(&name).copied().unwrap_or(0),
        waiting: (!is_sampled).then_some(waiting.len() as u64),
        training: (!is_sampled).then(|| training.get(&name).copied().unwrap_or(0)),
        group_min: GROUP_MIN,
        sdk_versions: largest_first(sdk_versions),
        attributes: attributes.into_iter().map(|(name, values)| (name, largest_first(values))).collect(),
        example_counts: disclosure.of_clients(in_order(example_counts)),
        training_speed: disclosure.of_clients(in_order(speeds)),
        withheld: disclosure.withheld(),
    }))
}

/// Returns the speed in examples per second; `None` if it was not measured.
fn speed(work: &WorkRecord) -> Option<u64> {
    (work.training_milliseconds > 0)
        .then(|| work.example_count.saturating_mul(1000) / work.training_milliseconds)
}

/// Returns the largest power of two that is at most `number`; 0 for 0.
fn power_of_two(number: u64) -> u64 {
    number.checked_ilog2().map_or(0, |power| 1 << power)
}

/// Converts counts by value to groups, largest first. Groups smaller than [`GROUP_MIN`] or beyond [`VALUES_MAX`] are
/// combined.
fn largest_first(counts: BTreeMap<String, u64>) -> Vec<ShareView> {
    let mut shares: Vec<ShareView> =
        counts.into_iter().map(|(value, clients)| ShareView { value, clients }).collect();
    shares.sort_by(|a, b| b.clients.cmp(&a.clients).then_with(|| a.value.cmp(&b.value)));
    let mut shown = 0;
    let mut other = 0;
    shares.retain(|share| {
        let is_shown = share.clients >= GROUP_MIN && shown < VALUES_MAX;
        if is_shown {
            shown += 1;
        } else {
            other += share.clients;
        }
        is_shown
    });
    with_other(shares, other)
}

/// Converts counts by power of two to groups, smallest power first. Groups smaller than [`GROUP_MIN`] are combined.
fn in_order(counts: BTreeMap<u64, u64>) -> Vec<ShareView> {
    let value = |power: u64| match power {
        0 | 1 => power.to_string(),
        _ => format!("{power}-{}", power.saturating_mul(2) - 1),
    };
    let small: u64 = counts.values().filter(|clients| **clients < GROUP_MIN).sum();
    let large = counts.into_iter().filter(|(_, clients)| *clients >= GROUP_MIN);
    with_other(large.map(|(power, clients)| ShareView { value: value(power), clients }).collect(), small)
}

fn with_other(mut shares: Vec<ShareView>, clients: u64) -> Vec<ShareView> {
    if clients > 0 {
        shares.push(ShareView { value: OTHER.into(), clients });
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_few_have_in_common_is_not_shown() {
        let counts = [("a", 3), ("b", 2), ("c", 9), ("d", 1)].map(|(value, count)| (value.to_owned(), count));
        let shown: Vec<(String, u64)> =
            largest_first(counts.into()).into_iter().map(|share| (share.value, share.clients)).collect();
        assert_eq!(shown, [("c", 9), ("a", 3), ("other", 3)].map(|(value, count)| (value.to_owned(), count)));
        let shown: Vec<(String, u64)> = in_order([(0, 4), (1, 3), (2, 1), (8, 5)].into())
            .into_iter()
            .map(|share| (share.value, share.clients))
            .collect();
        let expected = [("0", 4), ("1", 3), ("8-15", 5), ("other", 1)];
        assert_eq!(shown, expected.map(|(value, count)| (value.to_owned(), count)));
    }

    #[test]
    fn numbers_fall_into_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 7, 8, u64::MAX].map(power_of_two), [0, 1, 2, 2, 4, 4, 8, 1 << 63]);
        let work = |example_count, training_milliseconds| WorkRecord { example_count, training_milliseconds };
        assert_eq!(speed(&work(10, 500)), Some(20));
        assert_eq!(speed(&work(10, 0)), None);
    }
}
