//! Explains why the coordinator paused a task, and suggests remedies.

use std::collections::BTreeMap;

use folkmoot_api::tasks::PauseView;
use folkmoot_coordinator::task::PauseReason;
use folkmoot_storage::{
    AssignmentRepository, AssignmentStatus, RoundRepository, Storage, StorageError, TaskRecord,
};

use crate::http::admin::rounds::view::kind_of;

/// Explains a pause by the most common reason for missing updates in the last round.
pub async fn pause_view(
    storage: &Storage,
    task: &TaskRecord,
    reason: &PauseReason,
) -> Result<PauseView, StorageError> {
    let happened = match reason {
        PauseReason::FailedCommits { rounds, .. } => return Ok(failed_commits(reason, *rounds)),
        PauseReason::FailedSelections { last_round, .. } => {
            return Ok(failed_selections(reason, *last_round));
        }
        PauseReason::AbandonedRounds { rounds, .. } => {
            format!("{rounds} rounds in a row were abandoned because too few updates arrived")
        }
        PauseReason::FailedAssignments { assignments, .. } => {
            format!("{assignments} assignments since the last version brought no update")
        }
    };
    let last = storage.rounds(task.id, 1, reason.last_round().checked_add(1)).await?.pop();
    let assignments = match last {
        Some(record) => storage.assignments(record.round.id).await?,
        None => Vec::new(),
    };
    let mut dropped: BTreeMap<(&str, Option<String>), u64> = BTreeMap::new();
    for assignment in &assignments {
        if let AssignmentStatus::Dropped { reason } = &assignment.status {
            *dropped.entry(kind_of(reason)).or_default() += 1;
        }
    }
    let most = dropped.into_iter().max_by_key(|(_, count)| *count).map(|(kind, _)| kind);
    let (why, remedy) = explain(most);
    Ok(PauseView {
        code: reason.code().into(),
        reason: format!("{happened}; {why}"),
        remedy: format!("{remedy} Then resume this task, or cancel it and create a corrected one."),
    })
}

/// Explains rounds that could not be combined; no setting of the task can fix that.
fn failed_commits(reason: &PauseReason, rounds: u64) -> PauseView {
    PauseView {
        code: reason.code().into(),
        reason: format!(
            "{rounds} rounds in a row were abandoned, and the updates of the last one could not be combined (commit_failed)"
        ),
        remedy: "Read the error in the coordinator's log (level ERROR, code commit_failed), and check that the data folder's disk \
                 has room and that no files are missing. Then resume this task, or cancel it and create a corrected one."
            .into(),
    }
}

/// Explains rounds without a draw: only the component can fix that.
fn failed_selections(reason: &PauseReason, round: u64) -> PauseView {
    PauseView {
        code: reason.code().into(),
        reason: format!("the task's own selection failed in round {round} (selection_failed)"),
        remedy: "Read the error in the coordinator's log (level ERROR, code selection_failed). Then create a task with a corrected \
                 component, or resume this one if the next draw may succeed."
            .into(),
    }
}

/// Returns the most common cause of missing updates, and a remedy.
fn explain(most: Option<(&'static str, Option<String>)>) -> (String, &'static str) {
    const DIVERGES: &str = "The training may diverge: lower the learning rate of plan.optimizer or of the finalizer, or \
         set plan.gradient_clipping.";
    let Some((kind, reason)) = most else {
        return ("the last round has no recorded reason".into(), "Look at the task's rounds.");
    };
    let reason = reason.unwrap_or_default();
    match (kind, reason.as_str()) {
        ("refused", code) => (format!("most updates of the last round were refused ({code})"), DIVERGES),
        ("aborted", "training_failed") => {
            (format!("most clients of the last round gave up ({reason})"), DIVERGES)
        }
        ("aborted", _) => (
            format!("most clients of the last round gave up ({reason})"),
            "Check the clients' logs, and use eligibility to exclude clients that cannot run the plan.",
        ),
        ("left_behind", _) => (
            "most clients of the last round fell too far behind".into(),
            "Raise the staleness bound of [scheduling], or set at_bound = \"delay\".",
        ),
        _ => (
            "most clients of the last round sent no update before the deadline".into(),
            "Raise scheduling.reporting_deadline_seconds, reduce plan.epochs, or lower scheduling.minimum_cohort.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kept_most_updates_away_is_named_with_what_helps() {
        let (why, remedy) = explain(Some(("refused", Some("update_not_finite".into()))));
        assert!(why.contains("update_not_finite") && remedy.contains("learning rate"), "{why} {remedy}");
        let (why, remedy) = explain(Some(("aborted", Some("training_failed".into()))));
        assert!(why.contains("training_failed") && remedy.contains("gradient_clipping"), "{why} {remedy}");
        assert!(explain(Some(("expired", None))).1.contains("reporting_deadline_seconds"));
        assert!(explain(Some(("aborted", Some("plan_unsupported".into())))).1.contains("eligibility"));
        assert!(explain(None).0.contains("no recorded reason"));
    }

    #[test]
    fn commits_that_fail_are_the_data_folders_and_not_the_clients() {
        let view = failed_commits(&PauseReason::FailedCommits { rounds: 3, last_round: 7 }, 3);
        assert_eq!(view.code, "failed_commits");
        assert!(
            view.reason.contains("3 rounds in a row") && view.reason.contains("commit_failed"),
            "{view:?}"
        );
        assert!(view.remedy.contains("data folder") && view.remedy.contains("resume"), "{view:?}");
    }
}
