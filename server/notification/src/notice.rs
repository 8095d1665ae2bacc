use std::fmt;

use folkmoot_protocol::{Timestamp, is_control};
use serde::{Deserialize, Serialize};

/// The occasion of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A task met a stop condition.
    TaskCompleted,
    /// The coordinator paused a task, because its rounds or assignments kept failing.
    TaskPaused,
    /// An active task has committed no version for a long time, or its last rounds were all abandoned.
    TaskStalled,
    /// Nine tenths of a privacy budget are spent: of the task, or of its population.
    BudgetNearlySpent,
    /// Somebody tests a channel.
    Test,
}

impl Event {
    /// The events that a channel can choose, and gets by default.
    pub const CHOICES: [Event; 4] =
        [Event::TaskCompleted, Event::TaskPaused, Event::TaskStalled, Event::BudgetNearlySpent];

    /// Returns the name in configurations and messages.
    pub fn name(self) -> &'static str {
        match self {
            Event::TaskCompleted => "task_completed",
            Event::TaskPaused => "task_paused",
            Event::TaskStalled => "task_stalled",
            Event::BudgetNearlySpent => "budget_nearly_spent",
            Event::Test => "test",
        }
    }
}

/// A task in a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskName {
    /// The task's id.
    pub id: String,
    /// The task's display name.
    pub name: String,
}

/// A message to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The same for the same occasion, also after a restart, so that recipients can recognise a repetition.
    pub id: String,
    /// The occasion.
    pub event: Event,
    /// The time of the notice. Deliveries replace it with the time of the first attempt.
    pub at: Timestamp,
    /// The organisation's name.
    pub organisation: String,
    /// The population's name. Absent in a test.
    pub population: Option<String>,
    /// The task. Absent in a test.
    pub task: Option<TaskName>,
    /// A short title, for example `digits was paused`.
    pub title: String,
    /// Sentences that say what happened.
    pub cause: String,
    /// Sentences that say what to do, if anything is to be done.
    pub remedy: Option<String>,
    /// A page of the console.
    pub link: String,
}

/// The JSON body of a webhook.
#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    organisation: &'a str,
    population: Option<&'a str>,
    task: Option<&'a TaskName>,
    title: &'a str,
    cause: &'a str,
    remedy: Option<&'a str>,
    link: &'a str,
}

impl Notice {
    /// Returns the title on one line: names may hold any character.
    pub fn subject(&self) -> String {
        on_a_line(&self.title)
    }

    /// Returns the JSON of a webhook: `type`, `timestamp` and `data`, as Standard Webhooks recommends.
    pub fn json(&self) -> String {
        let data = Data {
            organisation: &self.organisation,
            population: self.population.as_deref(),
            task: self.task.as_ref(),
            title: &self.title,
            cause: &self.cause,
            remedy: self.remedy.as_deref(),
            link: &self.link,
        };
        let body = Body { r#type: self.event.name(), timestamp: self.moment(), data };
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// Returns the message of a chat, with the markup of Slack.
    pub fn chat(&self) -> String {
        let mut lines = vec![format!("*{}*", escaped(&self.subject())), escaped(&self.cause)];
        lines.extend(self.remedy.as_deref().map(escaped));
        lines.push(format!("<{}|Open the console>", self.link));
        lines.join("\n")
    }

    fn moment(&self) -> String {
        let at = i64::try_from(self.at.0).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
        at.unwrap_or_default().to_string()
    }
}

/// The text of an e-mail.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.cause)?;
        if let Some(remedy) = &self.remedy {
            writeln!(f, "{remedy}\n")?;
        }
        writeln!(f, "{}\n", self.link)?;
        if let Some(task) = &self.task {
            writeln!(f, "Task:         {} ({})", on_a_line(&task.name), task.id)?;
        }
        if let Some(population) = &self.population {
            writeln!(f, "Population:   {population}")?;
        }
        writeln!(f, "Organisation: {}", self.organisation)?;
        writeln!(f, "Time:         {}", self.moment())
    }
}

/// Returns a text without line breaks and other control characters.
fn on_a_line(text: &str) -> String {
    text.chars()
        .map(|letter| if is_control(letter) { ' ' } else { letter })
        .collect::<String>()
        .trim_end()
        .to_owned()
}

/// Escapes the three characters that Slack's markup gives a meaning. An invisible space after `@` keeps names from calling
/// people.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('@', "@\u{200b}")
}
