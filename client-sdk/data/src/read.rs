//! Reads examples from a path.

use std::path::Path;

use folkmoot_engine::{Examples, Labels, data::LabelKind};

use crate::{
    DataError, Dataset, Format, ReadOptions, cifar, content, csv, idx, images, leaf, npy, npz, parquet,
    schema,
};

/// Reads examples from a file or a folder, with their groups if the file has them.
///
/// Features are float32. Bytes of images, IDX and CIFAR become numbers from 0 to 1, channels first. The same files give
/// the same examples in the same order on every machine: folders are read in name order.
///
/// # Errors
/// Returns a [`DataError`] that names the file, the position in it, and a remedy.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Dataset, DataError> {
    let format = options.format_of(path)?;
    options.check(format, path)?;
    let dataset = match format {
        Format::Csv => match &options.schema {
            Some(schema) => schema::read(path, schema, options.group_column.as_deref(), &options.limits)?,
            None => csv::read(path, options)?,
        },
        Format::Npy => npy::read(path, options)?,
        Format::Npz => npz::read(path, options)?,
        Format::Parquet => parquet::read(path, options)?.into_dataset(path)?,
        Format::Images => images::read(path, options)?.into_dataset(path)?,
        Format::Idx => idx::read(path, options)?.into_dataset(path)?,
        Format::Cifar10 => cifar::read(path, options, &cifar::CIFAR_10)?.into_dataset(path)?,
        Format::Cifar100 => cifar::read(path, options, &cifar::CIFAR_100)?.into_dataset(path)?,
        Format::Leaf => leaf::read(path, options)?.into_dataset(path)?,
    };
    let examples = dataset.examples;
    options.limits.expect_room(path, examples.len() as u64, examples.features().len() as u64)?;
    Ok(Dataset { examples: adapted(examples, path, options)?, groups: dataset.groups })
}

/// Converts labels and shape to what the options request, if they differ.
fn adapted(examples: Examples, path: &Path, options: &ReadOptions) -> Result<Examples, DataError> {
    let to_targets =
        options.label_kind == LabelKind::Target && matches!(examples.labels(), Labels::Classes(_));
    let to_flat = options.flat && examples.feature_shape().len() > 1;
    if !to_targets && !to_flat {
        return Ok(examples);
    }
    let labels = match examples.labels() {
        Labels::Classes(classes) if to_targets => {
            Labels::Targets(classes.iter().map(|class| *class as f32).collect(), 1)
        }
        other => other.clone(),
    };
    let shape = examples.feature_shape();
    let shape = if to_flat { vec![shape.iter().product()] } else { shape.to_vec() };
    content::examples(examples.features().to_vec(), shape, labels, path)
}
