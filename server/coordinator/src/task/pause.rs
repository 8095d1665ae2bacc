use serde::{Deserialize, Serialize};

use crate::round::{Phase, Round};

/// Why the coordinator paused a task by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum PauseReason {
    /// Round after round was abandoned because too few updates came.
    AbandonedRounds {
        /// How many in a row.
        rounds: u64,
        /// The newest of them.
        last_round: u64,
    },
    /// Round after round was abandoned, and the last of them because its updates could not be combined.
    FailedCommits {
        /// How many in a row.
        rounds: u64,
        /// The newest of them.
        last_round: u64,
    },
    /// Clients start one by one, and since the last version none of them brought an update.
    FailedAssignments {
        /// How many assignments failed.
        assignments: u64,
        /// The round in which they were given.
        last_round: u64,
    },
}

impl PauseReason {
    /// Returns the reason's code, as the API, logs and the console show it.
    pub fn code(&self) -> &'static str {
        match self {
            PauseReason::AbandonedRounds { .. } => "abandoned_rounds",
            PauseReason::FailedCommits { .. } => "failed_commits",
            PauseReason::FailedAssignments { .. } => "failed_assignments",
        }
    }

    /// Returns the newest round that it speaks of.
    pub fn last_round(&self) -> u64 {
        match *self {
            PauseReason::AbandonedRounds { last_round, .. }
            | PauseReason::FailedCommits { last_round, .. }
            | PauseReason::FailedAssignments { last_round, .. } => last_round,
        }
    }
}

/// Counts the training rounds in a row that were abandoned because too few updates came, or because those that came could
/// not be combined, newest first, up to `after_round`.
///
/// In these rounds clients trained in vain. A round for which too few clients came cost nothing and says nothing of the
/// task, so it neither counts nor ends the row; the same goes for one that an operator ended.
pub fn abandoned_in_a_row<'a>(newest_first: impl IntoIterator<Item = &'a Round>, after_round: u64) -> u64 {
    let mut abandoned = 0;
    for round in newest_first {
        match round.phase {
            _ if round.number <= after_round => break,
            Phase::Committed { .. } => break,
            _ => abandoned += u64::from(round.is_abandoned_in_vain()),
        }
    }
    abandoned
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{RoundId, TaskId, Timestamp};

    use super::*;
    use crate::round::{AbandonReason, Purpose};

    fn row(phases: &[(Purpose, Phase)]) -> Vec<Round> {
        let round = |(number, (purpose, phase)): (u64, &(Purpose, Phase))| Round {
            id: RoundId::from_random_bytes([1; 16]),
            task_id: TaskId::from_random_bytes([2; 16]),
            number,
            purpose: *purpose,
            base_version: 0,
            phase: phase.clone(),
        };
        let mut rounds: Vec<Round> = (1..).zip(phases).map(round).collect();
        rounds.reverse();
        rounds
    }

    #[test]
    fn rounds_in_which_clients_trained_in_vain_count() {
        use AbandonReason::{CommitFailed, TaskPaused, TooFewClients, TooFewReports};
        let at = Timestamp(1);
        let abandoned = |reason| (Purpose::Training, Phase::Abandoned { at, reason });
        let evaluation = (Purpose::Evaluation, Phase::Abandoned { at, reason: TooFewReports });
        let committed = (Purpose::Training, Phase::Committed { at, cohort: 2, accepted: 2, version: 1 });
        let nobody_came = row(&[abandoned(TooFewClients), abandoned(TooFewClients)]);
        assert_eq!(abandoned_in_a_row(&nobody_came, 0), 0);
        let rounds = row(&[
            abandoned(TooFewReports),
            committed,
            abandoned(TooFewReports),
            abandoned(TooFewClients),
            evaluation,
            abandoned(TaskPaused),
            abandoned(CommitFailed),
            (Purpose::Training, Phase::Selecting { since: at }),
        ]);
        assert_eq!(abandoned_in_a_row(&rounds, 0), 2, "the version ends the row");
        assert_eq!(abandoned_in_a_row(&rounds, 3), 1, "what came before the task was resumed is forgiven");
        assert_eq!(abandoned_in_a_row(&rounds, 7), 0);
    }
}
