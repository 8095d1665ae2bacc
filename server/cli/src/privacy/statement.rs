use std::path::PathBuf;

use folkmoot_api::statement::Statement;
use folkmoot_protocol::TaskId;
use serde::Serialize;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, replace, task_called::TaskCalled};

/// The largest number of characters in a line.
const LINE_CHARACTERS_MAX: usize = 100;

/// The flags of `folkmoot privacy statement`.
#[derive(clap::Args)]
pub struct Args {
    /// The task: its name, its id or the beginning of its id. `folkmoot task list` shows both.
    task: TaskCalled,
    /// Write the statement to an HTML file instead of printing it.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Written {
    task: TaskId,
    file: PathBuf,
}

/// Shows a task's privacy guarantee and the budget that it has spent.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, or if the page cannot be written.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let task = args.task.id(&coordinator).await?;
    let statement = coordinator.privacy(task).await?;
    let Some(file) = args.html else { return args.output.print(&statement, text) };
    replace::write(&file, statement.html())?;
    args.output.print(&Written { task, file }, |written| {
        format!("wrote the statement to {}", written.file.display())
    })
}

fn text(statement: &Statement) -> String {
    let head = format!("Privacy of {} (task {})", statement.name, statement.task_id);
    let sentences =
        statement.sentences.iter().map(|one| format!("{}\n{}", one.about, wrapped("  ", &one.text)));
    [head].into_iter().chain(sentences).collect::<Vec<_>>().join("\n\n")
}

/// Wraps text into lines that begin with `indent`.
fn wrapped(indent: &str, text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE_CHARACTERS_MAX => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use folkmoot_api::statement::Sentence;

    use super::*;

    #[test]
    fn a_statement_is_laid_out_for_a_terminal() {
        let long = "word ".repeat(50);
        let sentence = |about: &str, text: &str| Sentence { about: about.into(), text: text.into() };
        let statement: Statement = serde_json::from_value(serde_json::json!({
            "task_id": TaskId::from_random_bytes([1; 16]),
            "name": "digits",
            "population": "digits",
            "clients": 3,
            "is_private": false,
            "releases": 0,
            "is_seeded": false,
            "sentences": [sentence("Unit", "One enrolled client."), sentence("Mechanism", &long)],
        }))
        .unwrap();
        let text = text(&statement);
        assert!(text.starts_with("Privacy of digits (task "), "{text}");
        assert!(text.contains("\n\nUnit\n  One enrolled client.\n\nMechanism\n  word word"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= LINE_CHARACTERS_MAX), "{text}");
        assert_eq!(text.matches("word").count(), 50);
    }
}
