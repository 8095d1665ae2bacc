use std::collections::{BTreeMap, HashMap};

use folkmoot_coordinator::round::{Phase, Purpose};
use folkmoot_protocol::{RoundId, TaskId, Timestamp};

use crate::memory::counts::{check_count, check_counts};
use crate::{RoundRecord, StorageError};

/// The rounds, indexed by id, and by task and number.
#[derive(Default)]
pub(in crate::memory) struct RoundTable {
    by_id: HashMap<RoundId, RoundRecord>,
    of_task: BTreeMap<TaskId, RoundsOfTask>,
}

/// One task's rounds.
#[derive(Default)]
struct RoundsOfTask {
    by_number: BTreeMap<u64, RoundId>,
    /// The open round of each purpose, by the purpose's name.
    open: BTreeMap<&'static str, RoundId>,
    committed: u64,
    first_at: Option<Timestamp>,
}

impl RoundTable {
    /// Finds a round.
    pub(in crate::memory) fn get(&self, id: RoundId) -> Option<&RoundRecord> {
        self.by_id.get(&id)
    }

    /// Finds the task's open round of a purpose.
    pub(in crate::memory) fn open(&self, task_id: TaskId, purpose: Purpose) -> Option<&RoundRecord> {
        let id = self.of_task.get(&task_id)?.open.get(purpose.name())?;
        self.get(*id)
    }

    /// Lists all open rounds.
    pub(in crate::memory) fn all_open(&self) -> impl Iterator<Item = RoundId> {
        self.of_task.values().flat_map(|rounds| rounds.open.values().copied())
    }

    /// Lists the tasks that have an open round.
    pub(in crate::memory) fn open_tasks(&self) -> impl Iterator<Item = TaskId> {
        self.of_task.iter().filter(|(_, rounds)| !rounds.open.is_empty()).map(|(id, _)| *id)
    }

    /// Lists the task's rounds below a number, newest first.
    pub(in crate::memory) fn below(
        &self,
        task_id: TaskId,
        number: u64,
    ) -> impl Iterator<Item = &RoundRecord> {
        let rounds = self.of_task.get(&task_id).into_iter();
        let ids = rounds.flat_map(move |rounds| rounds.by_number.range(..number).rev());
        ids.filter_map(|(_, id)| self.get(*id))
    }

    /// Counts the task's rounds: `(all, committed)`.
    pub(in crate::memory) fn counts(&self, task_id: TaskId) -> (u64, u64) {
        let rounds = self.of_task.get(&task_id);
        rounds.map_or((0, 0), |rounds| (rounds.by_number.len() as u64, rounds.committed))
    }

    /// Returns when the task's first round was opened.
    pub(in crate::memory) fn first_at(&self, task_id: TaskId) -> Option<Timestamp> {
        self.of_task.get(&task_id)?.first_at
    }

    /// Checks whether a round can be added, assuming that the round `ended` is no longer open.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task already has a round with this number, or another open one.
    pub(in crate::memory) fn check_insert(
        &self,
        record: &RoundRecord,
        ended: Option<RoundId>,
    ) -> Result<(), StorageError> {
        let round = &record.round;
        check_counts([round.number, round.base_version, record.created_at.0, record.revision])?;
        check_counts(record.updates_max)?;
        let of_number =
            self.of_task.get(&round.task_id).and_then(|rounds| rounds.by_number.get(&round.number));
        let is_taken = of_number.is_some() || self.by_id.contains_key(&round.id);
        let other_open = self.open(round.task_id, round.purpose).filter(|open| Some(open.round.id) != ended);
        match is_taken || (!round.phase.is_final() && other_open.is_some()) {
            true => Err(StorageError::RevisionConflict("round")),
            false => Ok(()),
        }
    }

    /// Adds a round that was checked.
    pub(in crate::memory) fn insert(&mut self, record: &RoundRecord) {
        let round = &record.round;
        let rounds = self.of_task.entry(round.task_id).or_default();
        rounds.by_number.insert(round.number, round.id);
        let earlier = rounds.first_at.filter(|first| *first <= record.created_at);
        rounds.first_at = earlier.or(Some(record.created_at));
        rounds.enter(round.id, round.purpose, &round.phase);
        self.by_id.insert(round.id, record.clone());
    }

    /// Checks whether a round's next phase can be stored.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently, or does not exist.
    pub(in crate::memory) fn check_update(&self, record: &RoundRecord) -> Result<(), StorageError> {
        check_count(record.revision)?;
        let is_unchanged = |stored: &&RoundRecord| {
            stored.organisation_id == record.organisation_id && stored.revision == record.revision
        };
        let conflict = StorageError::RevisionConflict("round");
        let Some(stored) = self.get(record.round.id).filter(is_unchanged) else { return Err(conflict) };
        let open = self.open(stored.round.task_id, stored.round.purpose);
        let other_is_open = open.is_some_and(|open| open.round.id != stored.round.id);
        if other_is_open && !record.round.phase.is_final() { Err(conflict) } else { Ok(()) }
    }

    /// Stores a round's next phase, which must have been checked.
    pub(in crate::memory) fn update(&mut self, record: &RoundRecord) {
        let Some(stored) = self.by_id.get_mut(&record.round.id) else { return };
        let rounds = self.of_task.entry(stored.round.task_id).or_default();
        rounds.leave(stored.round.id, stored.round.purpose, &stored.round.phase);
        stored.round.phase = record.round.phase.clone();
        stored.revision += 1;
        rounds.enter(stored.round.id, stored.round.purpose, &stored.round.phase);
    }
}

impl RoundsOfTask {
    fn enter(&mut self, id: RoundId, purpose: Purpose, phase: &Phase) {
        self.committed += u64::from(matches!(phase, Phase::Committed { .. }));
        if !phase.is_final() {
            self.open.insert(purpose.name(), id);
        }
    }

    fn leave(&mut self, id: RoundId, purpose: Purpose, phase: &Phase) {
        self.committed -= u64::from(matches!(phase, Phase::Committed { .. }));
        if self.open.get(purpose.name()) == Some(&id) {
            self.open.remove(purpose.name());
        }
    }
}
