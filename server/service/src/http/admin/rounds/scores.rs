//! The scores of the updates that a round's version combines.

use folkmoot_api::rounds::{CommitScoresView, UpdateScoreView};
use folkmoot_protocol::{ClientId, Role};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{AssignmentRepository, ModelVersionRepository, RoundRecord};

use crate::http::{App, admin::access::Caller};

/// Returns the scores of a round; `None` if it has released no version, or its updates were not scored.
///
/// # Errors
/// Fails if the storage fails.
pub async fn scores(
    app: &App,
    caller: &Caller,
    record: &RoundRecord,
) -> Result<Option<CommitScoresView>, Refusal> {
    let storage = &app.coordinator.storage;
    let Some(number) = record.round.phase.outcome().version else { return Ok(None) };
    let Some(version) = storage.model_version(record.round.task_id, number).await? else { return Ok(None) };
    let Some(scores) = version.making.scores else { return Ok(None) };
    let mut most_unusual = Vec::new();
    for (assignment, score) in scores.most_unusual {
        // Only admins see single clients.
        let client_id: Option<ClientId> = match caller.role {
            Role::Admin => storage.assignment(assignment).await?.map(|assignment| assignment.client_id),
            _ => None,
        };
        most_unusual.push(UpdateScoreView {
            client_id,
            norm_ratio: score.norm_ratio,
            cosine: score.cosine,
            score: score.score(),
            is_unusual: score.is_unusual(),
            explanation: score.explanation(scores.cosine_median),
        });
    }
    Ok(Some(CommitScoresView { updates: scores.updates, unusual: scores.unusual, most_unusual }))
}
