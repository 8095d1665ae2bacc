use std::{
    io::{IsTerminal, stderr},
    path::{Path, PathBuf},
};

use folkmoot_client::read_model_file;
use folkmoot_coordinator::task::{Fault, SchemaSource, TaskData, TaskDescription};
use folkmoot_data::schema;
use folkmoot_engine::{ImportLimits, Model, Travelling};
use folkmoot_protocol::TrainingPlan;
use folkmoot_rounds::{components, registry::fit};
use folkmoot_task_file::{
    self as task_file, TaskFileError,
    explain::{self, ModelSize},
};
use serde::Serialize;

use crate::{
    CliError,
    output::{self, OutputArgs},
};

/// The flags of `folkmoot task check`.
#[derive(clap::Args)]
pub struct Args {
    /// The task file.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Also check that the task fits this model.
    #[arg(long, value_name = "FILE.onnx")]
    model: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists every fault of a task file.
///
/// # Errors
/// If there is a fault, or a file cannot be read.
pub fn run(args: &Args) -> Result<(), CliError> {
    let model = args.model.as_deref().map(read_model).transpose()?;
    let model = model.as_ref().map(|(model, _)| model);
    match read_for(&args.file, model)? {
        Ok(description) => {
            let trained = model.map(|model| size_of(model, 0, &description.plan).trained);
            let mut notes = explain::notes(&description, trained);
            notes.extend(components::note(&description));
            let fine = Fine { path: args.file.display().to_string(), faults: [], notes };
            args.output.print(&fine, Fine::text)
        }
        Err(error) if args.output.json => {
            output::json_line(&output::json(&error)?)?;
            Err(CliError::new(error.summary()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The result for a file without faults.
#[derive(Serialize)]
struct Fine {
    path: String,
    faults: [(); 0],
    notes: Vec<String>,
}

impl Fine {
    fn text(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("\nnote: {note}"));
        format!("{} has no fault{}", self.path, notes.collect::<String>())
    }
}

/// Reads a task file and the file of its table schema, and checks that the task fits a model, if one is given.
///
/// # Errors
/// If the file cannot be read. The inner result has the faults of its contents.
pub fn read_for(
    path: &Path,
    model: Option<&Model>,
) -> Result<Result<TaskDescription, TaskFileError>, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::read(path))?;
    Ok(read_text_for(path, &text, model))
}

/// Reads the text of a task file, and does the same checks as [`read_for`]. Files that the task names are found from the
/// folder of `path`.
///
/// # Errors
/// The faults of the text.
pub fn read_text_for(
    path: &Path,
    text: &str,
    model: Option<&Model>,
) -> Result<TaskDescription, TaskFileError> {
    let misfits = |description: &mut TaskDescription| {
        let mut faults: Vec<Fault> = read_schema(path, description).err().into_iter().collect();
        faults.extend(components::find_files(&path.with_file_name(""), description));
        faults.extend(model.into_iter().flat_map(|model| fit::faults(description, model)));
        faults
    };
    task_file::read_with(path, text, misfits)
}

/// Replaces the name of the schema's file, which is relative to the folder of the task file, by the schema. Removes an
/// unreadable one from the description.
fn read_schema(task_file: &Path, description: &mut TaskDescription) -> Result<(), Fault> {
    let Some(data) = &mut description.data else { return Ok(()) };
    let SchemaSource::File(name) = &data.schema else { return Ok(()) };
    match schema::read_file(&task_file.with_file_name("").join(name)) {
        Ok(schema) => {
            data.schema = SchemaSource::Schema(Box::new(schema));
            Ok(())
        }
        Err(error) => {
            description.data = None;
            let remedy = "name a file from `folkmoot data schema`, by its path from the task file's folder";
            Err(Fault::new(TaskData::SCHEMA_FIELD, error.to_string(), remedy))
        }
    }
}

/// Reads a model. Also returns the bytes of its ONNX file.
///
/// # Errors
/// If the file cannot be read, or is not a trainable ONNX model.
pub fn read_model(path: &Path) -> Result<(Model, Vec<u8>), CliError> {
    let onnx = read_model_file(path)?.onnx;
    let model = Model::from_onnx(&onnx, &ImportLimits::default())
        .map_err(|error| CliError::new(format!("{}: {error}", path.display())))?;
    Ok((model, onnx))
}

/// Returns the size of a model for a plan that fits it.
pub fn size_of(model: &Model, model_bytes: u64, plan: &TrainingPlan) -> ModelSize {
    let parameters = model.parameter_count();
    let model = model.for_plan(plan).unwrap_or_else(|_| model.clone());
    let trained = Travelling::of(&model, plan).map_or(parameters, |travelling| travelling.value_count());
    ModelSize { parameters: parameters as u64, trained: trained as u64, model_bytes }
}

impl From<TaskFileError> for CliError {
    /// Formats every fault below its line, in colours if stderr is a terminal and NO_COLOR is not set.
    fn from(error: TaskFileError) -> Self {
        let is_coloured = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self::new(format!("{}\n\n{}", error.summary(), error.text(is_coloured)))
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::onnx::build::mlp;
    use folkmoot_protocol::DataSchema;
    use folkmoot_task_file::{TemplateChoices, template};

    use super::*;

    #[test]
    fn a_file_is_checked_against_its_model() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("task.toml");
        std::fs::write(&file, template(&TemplateChoices::default()).unwrap()).unwrap();
        let check = |widths: &[usize]| {
            let model = folder.path().join("model.onnx");
            std::fs::write(&model, mlp(widths, 1)).unwrap();
            let (model, onnx) = read_model(&model).unwrap();
            assert!(onnx.len() > 4 * model.parameter_count());
            read_for(&file, Some(&model)).unwrap()
        };
        assert!(check(&[4, 3]).is_ok());
        let error = check(&[4, 1]).unwrap_err();
        let [fault] = error.faults.as_slice() else { panic!("{error}") };
        assert_eq!(fault.field, "plan.loss");
        assert!(fault.source.starts_with("loss = "), "{fault:?}");
        assert!(CliError::from(error).message.contains("has 1 fault\n\nfault: plan.loss: "));
    }

    #[test]
    fn the_file_of_a_schema_is_beside_the_task_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("task.toml");
        let text = template(&TemplateChoices::default()).unwrap();
        std::fs::write(&file, text + "\n[data]\nschema = \"visits.json\"\n").unwrap();
        let error = read_for(&file, None).unwrap().unwrap_err();
        let [fault] = error.faults.as_slice() else { panic!("{error}") };
        assert_eq!(
            (fault.field.as_str(), fault.source.as_str()),
            ("data.schema", "schema = \"visits.json\"")
        );
        let column = r#"{"kind": "number", "name": "age", "mean": 51, "deviation": 8.5, "missing": "mean"}"#;
        let label = r#"{"kind": "class", "name": "outcome", "classes": ["home", "ward"]}"#;
        let schema = format!(r#"{{"columns": [{column}], "label": {label}}}"#);
        std::fs::write(folder.path().join("visits.json"), schema).unwrap();
        let task = read_for(&file, None).unwrap().unwrap();
        assert_eq!(task.data_schema().map(DataSchema::feature_shape), Some(vec![1]));
        let model = Model::from_onnx(&mlp(&[2, 2], 1), &ImportLimits::default()).unwrap();
        let error = read_for(&file, Some(&model)).unwrap().unwrap_err();
        assert!(error.to_string().contains("its columns become 1 features"), "{error}");
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(read_model(file.path()).is_err());
    }
}
