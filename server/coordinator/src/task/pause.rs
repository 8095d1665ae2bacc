use serde::{Deserialize, Serialize};

use crate::round::{Phase, Round};

/// The reason why the coordinator paused a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum PauseReason {
    /// Too many consecutive rounds were abandoned because too few updates were accepted.
    AbandonedRounds {
        /// The number of consecutive rounds.
        rounds: u64,
        /// The number of the newest abandoned round.
        last_round: u64,
    },
    /// Too many consecutive rounds were abandoned, the last because its updates could not be combined.
    FailedCommits {
        /// The number of consecutive rounds.
        rounds: u64,
        /// The number of the newest abandoned round.
        last_round: u64,
    },
    /// The task's own selection failed.
    FailedSelections {
        /// The number of consecutive abandoned rounds.
        rounds: u64,
        /// The number of the newest abandoned round.
        last_round: u64,
    },
    /// In a flow, too many assignments failed since the last version, and no update was accepted.
    FailedAssignments {
        /// The number of failed assignments.
        assignments: u64,
        /// The number of the round in which the assignments failed.
        last_round: u64,
    },
}

impl PauseReason {
    /// Returns the reason's code, as the API, logs and the console show it.
    pub fn code(&self) -> &'static str {
        match self {
            PauseReason::AbandonedRounds { .. } => "abandoned_rounds",
            PauseReason::FailedCommits { .. } => "failed_commits",
            PauseReason::FailedSelections { .. } => "failed_selections",
            PauseReason::FailedAssignments { .. } => "failed_assignments",
        }
    }

    /// Returns the number of the newest affected round.
    pub fn last_round(&self) -> u64 {
        match *self {
            PauseReason::AbandonedRounds { last_round, .. }
            | PauseReason::FailedCommits { last_round, .. }
            | PauseReason::FailedSelections { last_round, .. }
            | PauseReason::FailedAssignments { last_round, .. } => last_round,
        }
    }
}

/// Counts the consecutive training rounds that failed ([`Round::has_failed`]). It counts backwards from the newest round, down to `after_round` exclusive.
///
/// A round with too few clients says nothing about the task, so it is
/// skipped: it neither adds to the count nor ends the sequence. Rounds that an operator ended are skipped, too.
pub fn abandoned_in_a_row<'a>(newest_first: impl IntoIterator<Item = &'a Round>, after_round: u64) -> u64 {
    let mut abandoned = 0;
    for round in newest_first {
        match round.phase {
            _ if round.number <= after_round => break,
            Phase::Committed { .. } => break,
            _ => abandoned += u64::from(round.has_failed()),
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
    fn rounds_that_the_task_made_fail_count() {
        use AbandonReason::{CommitFailed, SelectionFailed, TaskPaused, TooFewClients, TooFewReports};
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
            abandoned(SelectionFailed),
            (Purpose::Training, Phase::Selecting { since: at }),
        ]);
        assert_eq!(abandoned_in_a_row(&rounds, 0), 3, "a committed version ends the sequence");
        assert_eq!(abandoned_in_a_row(&rounds, 3), 2, "rounds before the resume do not count");
        assert_eq!(abandoned_in_a_row(&rounds, 8), 0);
    }
}
