//! The variants of a comparison: their names, their task descriptions and their folders.

use std::{collections::BTreeMap, path::Path};

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_simulation::{
    compare::folder_name,
    report::{LeftOut, RUNS_MAX},
    simulate::held_out_metric,
};
use folkmoot_task_file::{PlacedFault, TaskFileError, Variant, overlay};
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

/// The task and its variants.
pub struct Variants {
    /// The variants to run. The task itself is the first, unless it equals a variant.
    pub tasks: Vec<NamedTask>,
    /// The index of the task, or of the variant that equals it.
    pub baseline: usize,
    /// The variants by name that do not fit the task.
    pub left_out: Vec<LeftOut>,
}

/// Reads the task and its variants. A variant given by its name changes any task, so it is left out if it does not fit
/// this task. A variant in a file is for this task, so its faults are errors.
///
/// # Errors
/// If a variant is unknown, a file has faults, or a variant cannot be compared with the task.
pub fn read(args: &Args, inputs: &Inputs) -> Result<Variants, CliError> {
    let text = std::fs::read_to_string(&args.task).map_err(CliError::read(&args.task))?;
    let task: Table = toml_file::parse(&args.task, &text)?;
    let (mut tasks, mut left_out) = (Vec::new(), Vec::new());
    for variant in &args.compare {
        let (name, changed) = change(variant.trim(), task.clone(), inputs.settings.clients)?;
        let text = toml::to_string(&changed).map_err(|error| CliError::new(format!("{name}: {error}")))?;
        match read_text_for(&args.task, &text, Some(&inputs.model)) {
            Ok(description) => {
                check(inputs, &name, &description)?;
                tasks.push(NamedTask { folder: folder_name(&name), name, description });
            }
            Err(error) if is_file(variant.trim()) => return Err(faulty(&name, &error)),
            Err(error) => {
                let reason =
                    |fault: &PlacedFault| format!("{}{}; {}", subject(fault), fault.message, fault.remedy);
                let reasons = error.faults.iter().map(reason).collect();
                left_out.push(LeftOut { variant: name, reasons });
            }
        }
    }
    let equal = tasks.iter().position(|variant| variant.description == inputs.description);
    let baseline = equal.unwrap_or_else(|| {
        let (name, description) = (inputs.description.name.clone(), inputs.description.clone());
        tasks.insert(0, NamedTask { folder: folder_name(&name), name, description });
        0
    });
    if tasks.len() == 1 {
        return Err(nothing(&tasks[0], &left_out));
    }
    if tasks.len() > RUNS_MAX {
        let message = format!("there are {} variants with the task; a report shows {RUNS_MAX}", tasks.len());
        return Err(CliError::with_remedy(message, "compare fewer variants at a time"));
    }
    refuse_equal(&tasks)?;
    Ok(Variants { tasks, baseline, left_out })
}

/// Returns the error of a comparison with one variant.
fn nothing(only: &NamedTask, left_out: &[LeftOut]) -> CliError {
    match left_out {
        [] => {
            let message = format!("there is nothing to compare: `{}` is the same as the task", only.name);
            CliError::with_remedy(message, "give a variant that changes the task")
        }
        _ => {
            let list: String = left_out
                .iter()
                .map(|one| format!("\n\nleft out: {}: {}", one.variant, one.reasons.join("; ")))
                .collect();
            let message = format!("there is nothing to compare with `{}`{list}", only.name);
            CliError::with_remedy(message, "change the task as each fault says, or give other variants")
        }
    }
}

/// Returns whether a variant is the path of a file, and not a name.
fn is_file(variant: &str) -> bool {
    Path::new(variant).extension().is_some_and(|extension| extension == "toml")
}

/// Returns the name of a variant and the changed task.
fn change(variant: &str, mut task: Table, clients: usize) -> Result<(String, Table), CliError> {
    let path = Path::new(variant);
    if !is_file(variant) {
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

/// Checks that the results of a variant can be compared with those of the task.
fn check(inputs: &Inputs, name: &str, description: &TaskDescription) -> Result<(), CliError> {
    if description.data != inputs.description.data {
        return Err(CliError::with_remedy(
            format!("the variant `{name}` changes [data], so it would not train on the task's columns"),
            "use the same [data] in all variants",
        ));
    }
    let [metric, expected] = [description, &inputs.description].map(held_out_metric);
    if metric != expected {
        return Err(CliError::with_remedy(
            format!(
                "the variant `{name}` measures the metric `{}`, but the task measures `{}`",
                metric.name(),
                expected.name()
            ),
            "set evaluation.metric in the task, and use it in all variants",
        ));
    }
    Ok(())
}

/// Lists the faults of a variant without their lines, because no file has the changed text.
fn faulty(name: &str, error: &TaskFileError) -> CliError {
    let s = if error.faults.len() == 1 { "" } else { "s" };
    let faults = error
        .faults
        .iter()
        .map(|fault| format!("\n\nfault: {}{}\n  remedy: {}", subject(fault), fault.message, fault.remedy));
    let count = error.faults.len();
    CliError::new(format!("the variant `{name}` has {count} fault{s}{}", faults.collect::<String>()))
}

/// Returns the beginning of a message: the key that the fault is about, and a colon. Empty if the fault has no key.
fn subject(fault: &PlacedFault) -> String {
    if fault.field.is_empty() { String::new() } else { format!("{}: ", fault.field) }
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

#[cfg(test)]
mod tests {
    use super::*;

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
