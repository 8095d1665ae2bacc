//! Draws by a selection of the task's own.

use std::collections::BTreeMap;

use folkmoot_component::Component;
use folkmoot_coordinator::{
    participation::Waiting,
    round::{AbandonReason, Collected, Effect, Gathered, Round, RoundInput},
};
use folkmoot_protocol::{BlobDigest, ClientId, TaskId};
use folkmoot_storage::{RoundRepository, TaskRecord};
use folkmoot_strategy::{ClientFacts, SelectionDraw};
use rand::Rng;

use super::DriveError;
use crate::{components::of_task, coordinator::Coordinator};

/// The answer to a draw: the input with which the step is repeated, and what the selection keeps with the draw.
pub struct Answer {
    /// The same facts with the order of preference; or that the round must end, because the selection has failed.
    pub input: RoundInput,
    /// The state for the next draw. `None` if the selection has failed.
    pub state: Option<Vec<u8>>,
}

/// Lets the task's own selection answer [`Effect::Prefer`], if a step has asked for that. `input` are the facts of this step.
///
/// # Errors
/// Fails if the storage fails, or this process cannot run the component. The step is then tried again.
pub async fn prefer(
    coordinator: &Coordinator,
    task: &TaskRecord,
    round: &Round,
    input: RoundInput,
    effects: &[Effect],
) -> Result<Option<Answer>, DriveError> {
    let (Some(component), [Effect::Prefer { clients, count }]) =
        (task.description.selection.component(), effects)
    else {
        return Ok(None);
    };
    let waiting = match &input {
        RoundInput::Waiting(gathered) => &gathered.waiting,
        RoundInput::Collected(collected) => &collected.waiting,
        _ => return Ok(None),
    };
    let draw = SelectionDraw {
        round: round.number,
        version: round.base_version,
        count: *count,
        seed: coordinator.with_chance(|chance| chance.next_u64()),
        clients: facts(task.id, waiting, clients),
    };
    match answer(coordinator, task, component, draw).await {
        Ok((places, state)) => {
            let preferred = Some(places.into_iter().map(|place| clients[place]).collect());
            let input = match input {
                RoundInput::Waiting(gathered) => RoundInput::Waiting(Gathered { preferred, ..gathered }),
                RoundInput::Collected(collected) => {
                    RoundInput::Collected(Collected { preferred, ..collected })
                }
                other => other,
            };
            Ok(Some(Answer { input, state: Some(state) }))
        }
        Err(error) if error.is_of_data() => {
            tracing::error!(
                %error, task = %task.id, round = round.number, code = "selection_failed",
                "round abandoned: the task's own selection has failed"
            );
            metrics::counter!("folkmoot_selections_failed_total").increment(1);
            Ok(Some(Answer { input: RoundInput::Stop(AbandonReason::SelectionFailed), state: None }))
        }
        Err(error) => Err(error),
    }
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

/// Returns a number that stands for a client in one task. It is the same in all draws, and does not give away the id.
fn key(task: TaskId, client: ClientId) -> u64 {
    let digest = BlobDigest::of(format!("{task} {client}").as_bytes());
    digest
        .to_string()
        .bytes()
        .take(16)
        .fold(0, |key, digit| key << 4 | u64::from(char::from(digit).to_digit(16).unwrap_or(0)))
}
