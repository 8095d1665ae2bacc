//! The last answers of tasks' own selections.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use folkmoot_protocol::{ClientId, RoundId, TaskId, Timestamp};

/// The time, in milliseconds, for which an answer holds even if clients come or go. Each fact wakes the drivers, and a
/// selection must not run each time.
const ANSWER_MILLISECONDS: u64 = 1_000;

/// The last answer of each task's own selection, in this process. Without it, the selection is asked again.
#[derive(Default)]
pub struct Answers(Mutex<HashMap<TaskId, Answer>>);

/// An answer of a task's own selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The clients in the order of preference.
    pub preferred: Vec<ClientId>,
    /// The state that the selection keeps with its draw.
    pub state: Vec<u8>,
    /// True if the selection has just been asked.
    pub is_new: bool,
    /// The round that asked.
    pub round: RoundId,
    /// The clients that waited.
    pub asked: Vec<ClientId>,
    /// When the round asked.
    pub at: Timestamp,
}

impl Answers {
    /// Returns the last answer of a task if it holds for these clients.
    pub fn held(&self, task: TaskId, round: RoundId, clients: &[ClientId], now: Timestamp) -> Option<Answer> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |one: &&Answer| {
            let is_recent = now.milliseconds_since(one.at) < ANSWER_MILLISECONDS;
            one.round == round && (is_recent || one.asked == clients)
        };
        answers.get(&task).filter(holds).map(|answer| Answer { is_new: false, ..answer.clone() })
    }

    /// Forgets the answer of a task, whose round has drawn or ended.
    pub fn forget(&self, task: TaskId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
    }

    /// Keeps an answer, in place of the last one of the task.
    pub fn keep(&self, task: TaskId, answer: Answer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(task, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_for_its_clients_and_for_a_second() {
        let (answers, task) = (Answers::default(), TaskId::from_random_bytes([1; 16]));
        let round = RoundId::from_random_bytes([2; 16]);
        let [one, other] = [3, 4].map(|number| ClientId::from_random_bytes([number; 16]));
        let at = Timestamp(10_000);
        let answer =
            Answer { preferred: vec![one], state: vec![7], is_new: true, round, asked: vec![one], at };
        answers.keep(task, answer.clone());
        let old = Some(Answer { is_new: false, ..answer });
        assert_eq!(answers.held(task, round, &[one], Timestamp(99_000)), old, "the same clients wait");
        assert_eq!(answers.held(task, round, &[one, other], Timestamp(10_999)), old);
        assert_eq!(answers.held(task, round, &[one, other], Timestamp(11_000)), None);
        assert_eq!(answers.held(task, RoundId::from_random_bytes([5; 16]), &[one], at), None);
        assert_eq!(answers.held(TaskId::from_random_bytes([6; 16]), round, &[one], at), None);
        answers.forget(task);
        assert_eq!(answers.held(task, round, &[one], at), None);
    }
}
