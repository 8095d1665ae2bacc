use folkmoot_aggregation::{Afl, AggregatorChoice, Measured, MixtureWeights};
use folkmoot_protocol::ClientId;
use folkmoot_storage::AcceptedUpdate;

use crate::{MakeError, Rows};

/// AFL: combines the updates by the weights of their clients, which are kept with the newest version, and returns the weights for the next one.
pub(super) fn means(
    mut rows: Rows<'_>,
    rule: &Afl,
    members: &[ClientId],
    kept: &[u8],
    mut visit: impl FnMut(&[&[f32]], &[f64]),
) -> Result<Vec<u8>, MakeError> {
    let mut mixture = match kept {
        [] => rule.begin(),
        kept => MixtureWeights::from_bytes(kept).ok_or(MakeError::MixtureWeights(kept.len()))?,
    };
    let factors: Vec<f64> = members.iter().map(|client| mixture.of(*client.as_bytes())).collect();
    let choice = AggregatorChoice::Afl(*rule);
    let combination = choice.combination(&vec![1; factors.len()], &factors, &Measured::None);
    if factors.iter().all(|factor| *factor == 0.0) {
        tracing::warn!(
            "afl: all of these clients have the weight 0, so the aggregate is 0; raise aggregator.clients if there are more clients than it says"
        );
    }
    rows.for_each_mean(&combination, |_, tile, means| visit(tile, means))?;
    let loss = |update: &AcceptedUpdate| update.metrics.mean_loss().unwrap_or(0.0);
    let losses = members.iter().zip(rows.updates).map(|(client, update)| (*client.as_bytes(), loss(update)));
    mixture.ascend(rule.learning_rate, losses);
    Ok(mixture.to_bytes())
}
