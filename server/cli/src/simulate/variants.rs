//! The variants of a comparison: their names, their task descriptions and their folders.

use std::{collections::BTreeMap, path::Path};

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_simulation::{report::RUNS_MAX, simulate::held_out_metric};
use folkmoot_task_file::{TaskFileError, Variant, overlay};
use toml::Table;

use super::{Args, CliError, Inputs};
use crate::task::check::read_text_for;
use folkmoot_settings::toml_file;

/// A variant of the task, checked.
pub struct NamedTask {
    pub name: String,
    /// The name of its folder below the output folder.
    pub folder: String,
    pub description: TaskDescription,
}

/// Reads the task and its variants. The task is the first, unless it equals a variant. Also returns the index of the task,
/// or of the variant that equals it.
///
/// # Errors
/// If a variant is unknown, has faults, or cannot be compared with the task.
pub fn read(args: &Args, inputs: &Inputs) -> Result<(Vec<NamedTask>, usize), CliError> {
    let text = std::fs::read_to_string(&args.task).map_err(CliError::read(&args.task))?;
    let task: Table = toml_file::parse(&args.task, &text)?;
    let mut tasks = Vec::new();
    for variant in &args.compare {
        let (name, changed) = change(variant.trim(), task.clone(), inputs.settings.clients)?;
        let description = check(args, inputs, &name, &changed)?;
        tasks.push(NamedTask { folder: folder(&name), name, description });
    }
    let equal = tasks.iter().position(|variant| variant.description == inputs.description);
    let baseline = equal.unwrap_or_else(|| {
        let (name, description) = (inputs.description.name.clone(), inputs.description.clone());
        tasks.insert(0, NamedTask { folder: folder(&name), name, description });
        0
    });
    if tasks.len() == 1 {
        let message = format!("there is nothing to compare: `{}` is the same as the task", tasks[0].name);
        return Err(CliError::with_remedy(message, "give a variant that changes the task"));
    }
    if tasks.len() > RUNS_MAX {
        let message = format!("there are {} variants with the task; a report shows {RUNS_MAX}", tasks.len());
        return Err(CliError::with_remedy(message, "compare fewer variants at a time"));
    }
    refuse_equal(&tasks)?;
    Ok((tasks, baseline))
}

/// Returns the name of a variant and the changed task.
fn change(variant: &str, mut task: Table, clients: usize) -> Result<(String, Table), CliError> {
    let path = Path::new(variant);
    if path.extension().is_none_or(|extension| extension != "toml") {
        let named = Variant::named(variant, clients)
            .map_err(|error| CliError::with_remedy(error.message, error.remedy))?;
        named.apply(&mut task);
        return Ok((variant.to_owned(), task));
    }
    let text = std::fs::read_to_string(path).map_err(CliError::read(path))?;
    overlay(&mut task, &toml_file::parse(path, &text)?);
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok((name.unwrap_or_else(|| variant.to_owned()), task))
}

/// Checks a variant as `folkmoot task check` does, and that its results can be compared with those of the task.
fn check(args: &Args, inputs: &Inputs, name: &str, changed: &Table) -> Result<TaskDescription, CliError> {
    let text = toml::to_string(changed).map_err(|error| CliError::new(format!("{name}: {error}")))?;
    let description =
        read_text_for(&args.task, &text, Some(&inputs.model)).map_err(|error| faulty(name, &error))?;
    if description.data != inputs.description.data {
        return Err(CliError::with_remedy(
            format!("the variant `{name}` changes [data], so it would train on other columns than the task"),
            "use the same [data] in all variants",
        ));
    }
    let [metric, expected] = [&description, &inputs.description].map(held_out_metric);
    if metric != expected {
        return Err(CliError::with_remedy(
            format!(
                "the variant `{name}` measures the metric `{}`, and the task measures `{}`",
                metric.name(),
                expected.name()
            ),
            "set evaluation.metric in the task, and use it in all variants",
        ));
    }
    Ok(description)
}

/// Lists the faults of a variant without their lines, because no file has the changed text.
fn faulty(name: &str, error: &TaskFileError) -> CliError {
    let s = if error.faults.len() == 1 { "" } else { "s" };
    let faults = error.faults.iter().map(|fault| {
        let subject = if fault.field.is_empty() { String::new() } else { format!("{}: ", fault.field) };
        format!("\n\nfault: {subject}{}\n  remedy: {}", fault.message, fault.remedy)
    });
    let count = error.faults.len();
    CliError::new(format!("the variant `{name}` has {count} fault{s}{}", faults.collect::<String>()))
}

/// Returns an error if two variants are the same, or would write to the same folder.
fn refuse_equal(tasks: &[NamedTask]) -> Result<(), CliError> {
    let mut folders = BTreeMap::new();
    for (place, one) in tasks.iter().enumerate() {
        if let Some(other) = tasks[..place].iter().find(|other| other.description == one.description) {
            let message = format!("the variants `{}` and `{}` are the same task", other.name, one.name);
            return Err(CliError::with_remedy(message, "remove one of them from --compare"));
        }
        // Some file systems ignore case.
        if let Some(other) = folders.insert(one.folder.to_lowercase(), &one.name) {
            let message = format!("`{other}` and `{}` would write to the same folder", one.name);
            return Err(CliError::with_remedy(message, "rename one of the files, or the task"));
        }
    }
    Ok(())
}

/// Returns a name as the name of a folder on any system. Other characters than letters, digits, `_`, `-` and inner dots
/// are replaced.
fn folder(name: &str) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() || "_-.".contains(letter) { letter } else { '-' };
    let safe: String = name.chars().map(safe).collect();
    let trimmed = safe.trim_matches('.');
    if trimmed.is_empty() { "task".to_owned() } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_name_that_is_valid_everywhere() {
        assert_eq!(folder("fed_adam"), "fed_adam");
        assert_eq!(folder("krum:0.2"), "krum-0.2");
        assert_eq!(folder("../Digits / test"), "-Digits---test");
        assert_eq!(folder(".."), "task");
    }

    #[test]
    fn a_file_has_its_stem_as_name_and_its_keys_replace_those_of_the_task() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two epochs.toml");
        std::fs::write(&path, "[plan]\nepochs = 2\n").unwrap();
        let task: Table = "[plan]\nepochs = 1\nbatch_size = 8\n".parse().unwrap();
        let (name, changed) = change(&path.display().to_string(), task.clone(), 10).unwrap();
        assert_eq!(name, "two epochs");
        assert_eq!(changed, "[plan]\nepochs = 2\nbatch_size = 8\n".parse().unwrap());
        assert_eq!(change("FedProx:1", task.clone(), 10).unwrap().0, "FedProx:1");
        std::fs::write(&path, "[plan\n").unwrap();
        let error = change(&path.display().to_string(), task.clone(), 10).unwrap_err();
        assert!(error.message.contains("two epochs.toml:1:"), "{}", error.message);
        assert!(change("missing.toml", task.clone(), 10).unwrap_err().message.contains("cannot be read"));
        assert!(change("fed_adm", task, 10).unwrap_err().remedy.unwrap().contains("`fed_adam`"));
    }
}
