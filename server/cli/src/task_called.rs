//! Tasks as a person calls them.

use std::str::FromStr;

use folkmoot_api::{AdminClient, Page, tasks::TaskSummary};
use folkmoot_coordinator::task::TaskFilter;
use folkmoot_protocol::TaskId;

use super::{CliError, output::moment};

/// The largest number of tasks that an error lists.
const LISTED_MAX: usize = 5;
/// The smallest number of characters that stand for an id.
const CHARACTERS_MIN: usize = 4;

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
    /// If no task or more than one matches, or the coordinator cannot be reached or refuses the request.
    pub async fn id(&self, coordinator: &AdminClient) -> Result<TaskId, CliError> {
        if let Ok(id) = self.0.parse() {
            return Ok(id);
        }
        let filter = TaskFilter { called: Some(self.0.clone()), ..TaskFilter::default() };
        let page = Page { limit: 100, before: None };
        self.only_one(&coordinator.tasks_like(&filter, page).await?)
    }

    /// Returns the only task that matches. A name has no precedence over the beginning of an id. Otherwise, a task
    /// could be named like the beginning of another task's id, and be cancelled instead.
    fn only_one(&self, found: &[TaskSummary]) -> Result<TaskId, CliError> {
        let called = self.0.to_lowercase();
        let matches = |task: &&TaskSummary| {
            task.name.to_lowercase() == called
                || (called.len() >= CHARACTERS_MIN && task.id.to_string().starts_with(&called))
        };
        let matching: Vec<_> = found.iter().filter(matches).collect();
        match matching[..] {
            [task] => Ok(task.id),
            [] => Err(CliError::with_remedy(
                format!("no task has the name {:?} or an id that begins with it", self.0),
                format!(
                    "list the tasks with `folkmoot task list`; give at least {CHARACTERS_MIN} characters of an id"
                ),
            )),
            _ => {
                let listed = matching.iter().take(LISTED_MAX).map(|task| {
                    let created = moment(task.created_at);
                    format!("\n  {}  {} ({}, created {created})", task.id, task.name, task.state)
                });
                let more = if matching.len() > LISTED_MAX { "\n  …" } else { "" };
                let listed: String = listed.collect();
                Err(CliError::with_remedy(
                    format!("several tasks match {:?}:{listed}{more}", self.0),
                    "give the id, or enough of its beginning",
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{BlobDigest, Timestamp};

    use super::*;

    fn task(byte: u8, name: &str) -> TaskSummary {
        TaskSummary {
            id: TaskId::from_random_bytes([byte; 16]),
            name: name.into(),
            population: "p".parse().unwrap(),
            model: BlobDigest::of(b"model"),
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
    fn a_name_or_the_beginning_of_an_id_is_enough() {
        let tasks = [task(0xab, "digits"), task(0xcd, "abab")];
        assert_eq!(chosen("Digits", &tasks), Ok(tasks[0].id));
        assert_eq!(chosen("cdcd", &tasks), Ok(tasks[1].id));
        assert_eq!(chosen("abab", &tasks[..1]), Ok(tasks[0].id));
        assert!(chosen("abab", &tasks).is_err(), "a task's name is the beginning of another one's id");
        for other in ["cdc", "zzzz", "digit"] {
            assert!(chosen(other, &tasks).is_err(), "{other}");
        }
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
