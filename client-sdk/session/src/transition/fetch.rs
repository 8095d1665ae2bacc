use folkmoot_protocol::{Disposition, messages::AbortReason};

use super::{PROGRESS_BYTES_MIN, abort, failed, train};
use crate::{
    ArtifactKind, Effect, Failure, State,
    state::{Fetching, Resume},
    turn::Turn,
};

/// The number of failures in a row after which the client gives up a blob and its assignment.
pub const FETCH_FAILURES_MAX: u32 = 10;

/// Fetches one blob.
pub(super) fn fetch(fetching: Fetching, failures: u32, turn: &mut Turn<'_>) -> State {
    let request_id = turn.next_request();
    let assignment = &fetching.work.assignment;
    let artifact = match fetching.kind {
        ArtifactKind::Plan => assignment.plan,
        ArtifactKind::Model => assignment.model,
        ArtifactKind::Weights => {
            assignment.weights_to_fetch().nth(fetching.part).unwrap_or(assignment.weights)
        }
    };
    turn.effects.push(Effect::Fetch { request_id, kind: fetching.kind, artifact });
    State::Assigned { request_id, failures, fetching }
}

pub(super) fn answered(
    result: Result<u64, Failure>,
    failures: u32,
    mut fetching: Fetching,
    turn: &mut Turn<'_>,
) -> State {
    let transferred = result.as_ref().map_or_else(|failure| failure.transferred_bytes, |_| 0);
    fetching.work.download_bytes = fetching.work.download_bytes.saturating_add(transferred);
    // The failure count restarts if the download made progress.
    let failures = if transferred >= PROGRESS_BYTES_MIN { 0 } else { failures };
    match result {
        Ok(downloaded_bytes) => next(fetching, downloaded_bytes, turn),
        Err(failure) if failure.disposition == Disposition::Retry && failures >= FETCH_FAILURES_MAX => {
            let detail = format!("the {:?} could not be fetched", fetching.kind);
            abort::give_up(&fetching.work, AbortReason::FetchFailed, detail, turn)
        }
        Err(failure) => {
            let work = fetching.work.clone();
            failed(&failure, failures, &work, Resume::Fetch(fetching), turn)
        }
    }
}

fn next(mut fetching: Fetching, downloaded_bytes: u64, turn: &mut Turn<'_>) -> State {
    fetching.work.download_bytes = fetching.work.download_bytes.saturating_add(downloaded_bytes);
    fetching.kind = match fetching.kind {
        ArtifactKind::Plan => ArtifactKind::Model,
        ArtifactKind::Model => ArtifactKind::Weights,
        ArtifactKind::Weights => {
            fetching.part += 1;
            if fetching.part >= fetching.work.assignment.weights_to_fetch().count() {
                return train::train(fetching.work, turn);
            }
            ArtifactKind::Weights
        }
    };
    fetch(fetching, 0, turn)
}
