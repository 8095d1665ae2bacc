//! Draws by a selection of the task's own.

use std::collections::BTreeMap;

use folkmoot_component::Component;
use folkmoot_coordinator::{
    participation::Waiting,
    round::{Effect, Round},
};
use folkmoot_protocol::{BlobDigest, ClientId, TaskId, Timestamp};
use folkmoot_storage::{RoundRepository, TaskRecord};
use folkmoot_strategy::{ClientFacts, SelectionDraw};
use rand::Rng;

use super::DriveError;
use crate::{answers::Answer, components::of_task, coordinator::Coordinator};

/// Lets the task's own selection answer [`Effect::Prefer`], if a step has asked for that. `waiting` are the clients that wait.
///
/// # Errors
/// Fails if the storage fails, or the selection does.
pub async fn prefer(
    coordinator: &Coordinator,
    task: &TaskRecord,
    round: &Round,
    waiting: &[Waiting],
    effects: &[Effect],
    now: Timestamp,
) -> Result<Option<Answer>, DriveError> {
    let (Some(component), [Effect::Prefer { clients, count }]) =
        (task.description.selection.component(), effects)
    else {
        return Ok(None);
    };
    let held = coordinator.answers.held(task.id, round.id, clients, now);
    if held.is_some() {
        return Ok(held);
    }
    let draw = SelectionDraw {
        round: round.number,
        version: round.base_version,
        count: *count,
        seed: coordinator.with_chance(|chance| chance.next_u64()),
        clients: facts(task.id, waiting, clients),
    };
    let (places, state) = answer(coordinator, task, component, draw).await?;
    let preferred = places.into_iter().map(|place| clients[place]).collect();
    let answer = Answer { preferred, state, is_new: true, round: round.id, asked: clients.clone(), at: now };
    coordinator.answers.keep(task.id, answer.clone());
    Ok(Some(answer))
}

/// Runs the selection on a blocking thread. Returns the places of clients in the order of preference, and the next state.
async fn answer(
    coordinator: &Coordinator,
    task: &TaskRecord,
    component: &Component,
    draw: SelectionDraw,
) -> Result<(Vec<usize>, Vec<u8>), DriveError> {
    let part = of_task(coordinator, component).await?;
    let state = coordinator.storage.selection_state(task.id).await?;
    let preferred = tokio::task::spawn_blocking(move || part.select(&draw, &state)).await??;
    Ok((preferred.places, preferred.state))
}

/// Returns the facts about these clients, in their order.
fn facts(task: TaskId, waiting: &[Waiting], clients: &[ClientId]) -> Vec<ClientFacts> {
    let by_id: BTreeMap<ClientId, &Waiting> =
        waiting.iter().map(|client| (client.candidate.client_id, client)).collect();
    let facts = |id: &ClientId| {
        let Waiting { candidate, history, .. } = by_id[id];
        ClientFacts {
            key: key(task, *id),
            examples: candidate.example_count,
            attributes: candidate.attributes.clone().into_iter().collect(),
            starts: history.starts,
            accepted: history.accepted,
            failures: history.failures,
            last_round: history.recent.back().map(|start| start.round_number),
            loss: history.mean_loss,
            milliseconds: history.milliseconds,
        }
    };
    clients.iter().map(facts).collect()
}

/// Returns a number that stands for a client in one task. It is the same in all draws. It only keeps ids out of
/// components and their states: anyone who knows the ids can compute it, such as a component's author who may list
/// clients.
fn key(task: TaskId, client: ClientId) -> u64 {
    let digest = BlobDigest::of(format!("{task} {client}").as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_one_client_in_one_task() {
        let task = |number| TaskId::from_random_bytes([number; 16]);
        let client = |number| ClientId::from_random_bytes([number; 16]);
        let keys: Vec<u64> =
            [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(of, one)| key(task(of), client(one))).into();
        let mut different = keys.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 4);
        assert_eq!(keys[0], key(task(1), client(1)));
        assert!(keys.iter().any(|key| key >> 32 != 0) && keys.iter().any(|key| key & 0xffff_ffff != 0));
    }
}
