use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use clap::builder::PossibleValuesParser;
use folkmoot_task_file::{EvaluationKind, TemplateChoices, kinds, template};

use crate::{CliError, output, words::words};

/// The flags of `folkmoot task new`.
#[derive(clap::Args)]
pub struct Args {
    /// The scheduling policy, which decides when clients start and when versions are committed.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(kinds("scheduling")))]
    scheduling: Option<String>,
    /// The aggregator, which combines updates.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(kinds("aggregator")))]
    aggregator: Option<String>,
    /// The finalizer, which applies the aggregate to the model.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(kinds("finalizer")))]
    finalizer: Option<String>,
    /// The selection policy, which chooses among eligible clients.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(kinds("selection")))]
    selection: Option<String>,
    /// The kind of evaluation.
    #[arg(long, value_name = "WHO", value_parser = words([
        ("central", "The coordinator, on the operator's own examples", EvaluationKind::Central),
        ("federated", "Clients, in separate rounds", EvaluationKind::Federated),
    ]))]
    evaluation: Option<EvaluationKind>,
    /// Write the template to this file instead of printing it. An existing file is never overwritten.
    #[arg(long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
}

/// Writes a template of a task file.
///
/// # Errors
/// If the choices cannot be combined, or the file already exists.
pub fn run(args: Args) -> Result<(), CliError> {
    let choices = TemplateChoices {
        scheduling: args.scheduling,
        aggregator: args.aggregator,
        finalizer: args.finalizer,
        selection: args.selection,
        evaluation: args.evaluation,
    };
    let text = template(&choices).map_err(|error| {
        let faults = error
            .faults
            .iter()
            .map(|fault| format!("{}: {}\nremedy: {}", fault.field, fault.message, fault.remedy));
        CliError::new(format!("these choices cannot be combined\n{}", faults.collect::<Vec<_>>().join("\n")))
    })?;
    match &args.output {
        None => output::line(&text),
        Some(path) => {
            write(path, &text)?;
            output::line(&format!("wrote {}; `folkmoot task explain {0}` explains it", path.display()))
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CliError::with_remedy(format!("{} already exists", path.display()), "choose another name")
        }
        _ => CliError::write(path)(error),
    })?;
    file.write_all(text.as_bytes()).map_err(CliError::write(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(output: Option<PathBuf>) -> Args {
        Args {
            scheduling: None,
            aggregator: None,
            finalizer: None,
            selection: None,
            evaluation: None,
            output,
        }
    }

    #[test]
    fn a_file_that_is_there_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("task.toml");
        run(args(Some(path.clone()))).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("[plan]"));
        assert!(run(args(Some(path))).unwrap_err().message.contains("already exists"));
    }

    #[test]
    fn choices_that_contradict_each_other_are_refused() {
        let choices =
            Args { scheduling: Some("buffered".into()), selection: Some("poisson".into()), ..args(None) };
        let error = run(choices).unwrap_err();
        assert!(error.message.contains("selection.kind: poisson draws a cohort"), "{error}");
    }
}
