//! Reads an update from an update file, or from the difference of two models.

use std::path::Path;

use folkmoot_client::read_model_file;
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::{
    TensorSchema, TensorSpec,
    limits::PARAMETERS_MAX,
    update::{HEADER_BYTES, UpdateHeader},
};
use folkmoot_training::schema_of;

use crate::CliError;

/// An uncompressed update.
pub struct UpdateFile {
    pub schema: TensorSchema,
    pub values: Vec<f32>,
}

/// Reads an update. `path` is an update file of a client, or an ONNX model whose difference from `base` is the
/// update. With a base, the update also gets the shapes of its tensors.
///
/// # Errors
/// If a file cannot be read, if `path` is neither kind of file, or if it does not match `base`.
pub fn read(path: &Path, base: Option<&Path>) -> Result<UpdateFile, CliError> {
    let bytes = std::fs::read(path).map_err(CliError::read(path))?;
    let at = |detail: String| CliError::new(format!("{}: {detail}", path.display()));
    let base = base.map(read_model).transpose()?;
    if !bytes.starts_with(&folkmoot_protocol::update::MAGIC) {
        let base = base.ok_or_else(|| {
            CliError::with_remedy(
                format!("{} is not an update file of a client", path.display()),
                "give an update file, or two ONNX models: the trained one and, with --base, the one before training",
            )
        })?;
        let after = read_model(path)?;
        if schema_of(&after) != schema_of(&base) {
            return Err(at("its tensors differ from those of the base model".into()));
        }
        let (after_weights, weights) = (after.initial_weights(), base.initial_weights());
        let values = after_weights.iter().zip(&weights).map(|(after, before)| after - before).collect();
        return Ok(UpdateFile { schema: schema_of(&base), values });
    }
    let (header, values) =
        bytes.split_first_chunk::<HEADER_BYTES>().ok_or_else(|| at("the header is truncated".into()))?;
    let header = UpdateHeader::decode(header).map_err(|error| at(error.to_string()))?;
    if header.is_compressed {
        return Err(at("the update is already compressed; give an uncompressed one".into()));
    }
    let (values, rest) = values.as_chunks::<4>();
    if !rest.is_empty() || values.len() as u64 != header.element_count {
        return Err(at(format!(
            "the header announces {} values, but {} follow",
            header.element_count,
            values.len()
        )));
    }
    let schema = match &base {
        Some(base) => schema_of(base),
        None => flat(values.len() as u64),
    };
    if schema.parameter_count() != header.element_count || header.element_count > PARAMETERS_MAX {
        return Err(at(format!(
            "the update has {} values, but the model has {}. If tensors of the task are frozen, the update has no values for \
             them; read it without --base",
            header.element_count,
            schema.parameter_count()
        )));
    }
    let values = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    Ok(UpdateFile { schema, values })
}

fn flat(count: u64) -> TensorSchema {
    TensorSchema { tensors: vec![TensorSpec { name: "update".into(), shape: vec![count] }] }
}

fn read_model(path: &Path) -> Result<Model, CliError> {
    let onnx = read_model_file(path)?.onnx;
    Model::from_onnx(&onnx, &ImportLimits::default())
        .map_err(|error| CliError::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{AssignmentId, update::UpdateMetrics};
    use folkmoot_update::encode_update;

    use super::*;

    fn example(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits").join(name)
    }

    #[test]
    fn an_update_is_read_from_what_a_client_wrote_or_from_two_models() {
        let folder = tempfile::tempdir().unwrap();
        let model = read_model(&example("model.onnx")).unwrap();
        let weights: Vec<f32> = model.initial_weights().iter().map(|weight| weight + 0.5).collect();
        let after = folder.path().join("after.onnx");
        std::fs::write(&after, model.export_onnx(&weights).unwrap()).unwrap();
        let update = read(&after, Some(&example("model.onnx"))).unwrap();
        assert_eq!(update.schema, schema_of(&model));
        assert!(update.values.iter().all(|value| (value - 0.5).abs() < 1e-6));

        let written = folder.path().join("written.update");
        let header = UpdateHeader {
            assignment_id: AssignmentId::from_random_bytes([1; 16]),
            schema_digest: [0; 32],
            base_version: 0,
            weight: 1,
            metrics: UpdateMetrics::default(),
            element_count: 0,
            is_compressed: false,
        };
        std::fs::write(&written, encode_update(&header, &update.values)).unwrap();
        assert_eq!(read(&written, None).unwrap().values, update.values);
        assert_eq!(read(&written, Some(&after)).unwrap().schema, update.schema);

        let refused = |path: &Path, base: Option<&Path>| read(path, base).err().unwrap().to_string();
        assert!(refused(&after, None).contains("--base"));
        assert!(refused(&example("cnn.onnx"), Some(&after)).contains("tensors"));
        assert!(refused(&written, Some(&example("cnn.onnx"))).contains("values, but the model"));
        std::fs::write(&written, &encode_update(&header, &update.values)[..200]).unwrap();
        assert!(refused(&written, None).contains("22 follow"), "{}", refused(&written, None));
    }
}
