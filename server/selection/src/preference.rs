use std::collections::BTreeMap;

use folkmoot_protocol::ClientId;

use super::Draw;

/// Returns the places of all preferred clients that wait, in the order of preference.
pub(super) fn order(draw: &Draw<'_>) -> Vec<usize> {
    let ids = draw.waiting.iter().map(|client| client.candidate.client_id);
    let places: BTreeMap<ClientId, usize> = ids.zip(0..).collect();
    let preferred = draw.preferred.unwrap_or_default();
    preferred.iter().filter_map(|id| places.get(id).copied()).collect()
}

/// Draws the first clients in the order of preference.
pub(super) fn first(draw: &Draw<'_>) -> Vec<usize> {
    let mut places = order(draw);
    places.truncate(draw.count);
    places
}
