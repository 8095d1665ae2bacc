//! Tasks as a person calls them.

use std::str::FromStr;

use folkmoot_api::{AdminClient, Page, tasks::TaskSummary};
use folkmoot_coordinator::task::TaskFilter;
use folkmoot_protocol::TaskId;

use super::{CliError, output::moment};

/// The largest number of tasks that an error lists.
const LISTED_MAX: usize = 5;

/// A task: its name, its id, or the beginning of its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCalled(String);

impl FromStr for TaskCalled {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "" => Err("give a task's name, its id or the beginning of its id"),
            called => Ok(Self(called.to_owned())),
        }
    }
}

impl TaskCalled {
    /// Returns the task's id. Asks the coordinator unless the text is an id.
    ///
    /// # Errors
    /// If no task or more than one is called so, or the coordinator cannot be reached or refuses the request.
    pub async fn id(&self, coordinator: &AdminClient) -> Result<TaskId, CliError> {
        if let Ok(id) = self.0.parse() {
            return Ok(id);
        }
        let filter = TaskFilter { called: Some(self.0.clone()), ..TaskFilter::default() };
        let page = Page { limit: 100, before: None };
        self.only_one(&coordinator.tasks_like(&filter, page).await?)
    }

    /// Chooses among the tasks that match. A whole name is meant before the beginning of an id.
    fn only_one(&self, found: &[TaskSummary]) -> Result<TaskId, CliError> {
        let called = self.0.to_lowercase();
        let named: Vec<_> = found.iter().filter(|task| task.name.to_lowercase() == called).collect();
        let meant = if named.is_empty() { found.iter().collect() } else { named };
        match meant[..] {
            [task] => Ok(task.id),
            [] => Err(CliError::with_remedy(
                format!("no task has the name {:?}, or an id that begins so", self.0),
                "list the tasks with `folkmoot task list`",
            )),
            _ => {
                let listed = meant.iter().take(LISTED_MAX).map(|task| {
                    format!("\n  {}  {} ({}, of {})", task.id, task.name, task.state, moment(task.created_at))
                });
                let more = if meant.len() > LISTED_MAX { "\n  …" } else { "" };
                let listed: String = listed.collect();
                Err(CliError::with_remedy(
                    format!("several tasks are called {:?}:{listed}{more}", self.0),
                    "give the id, or enough of its beginning",
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::*;

    fn task(byte: u8, name: &str) -> TaskSummary {
        TaskSummary {
            id: TaskId::from_random_bytes([byte; 16]),
            name: name.into(),
            population: "p".parse().unwrap(),
            state: "draft".into(),
            rounds_committed: 0,
            rounds_wanted: None,
            created_at: Timestamp(0),
        }
    }

    fn chosen(called: &str, found: &[TaskSummary]) -> Result<TaskId, String> {
        let called: TaskCalled = called.parse().unwrap();
        called.only_one(found).map_err(|error| error.message)
    }

    #[test]
    fn a_name_is_meant_before_the_beginning_of_an_id() {
        let tasks = [task(0xab, "digits"), task(0xcd, "AB")];
        assert_eq!(chosen("ab", &tasks), Ok(tasks[1].id));
        assert_eq!(chosen("abab", &tasks[..1]), Ok(tasks[0].id));
        assert_eq!(chosen("Digits", &tasks[..1]), Ok(tasks[0].id));
    }

    #[test]
    fn who_could_mean_several_is_shown_them() {
        let tasks: Vec<_> = (0..7).map(|byte| task(byte, "digits")).collect();
        let error = chosen("digits", &tasks).unwrap_err();
        assert!(error.contains(&tasks[4].id.to_string()) && !error.contains(&tasks[5].id.to_string()));
        assert!(error.ends_with("\n  …"), "{error}");
        assert!(chosen("none", &[]).unwrap_err().contains("no task has the name \"none\""));
        assert!(" ".parse::<TaskCalled>().is_err());
    }
}
