//! Reads examples from a path.

use std::path::Path;

use folkmoot_engine::{Examples, Labels, data::LabelKind};

use crate::{
    DataError, Dataset, Format, ReadOptions, cifar, content, csv, idx, images, leaf, npy, npz, parquet,
    schema::{self, DataSchema},
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
            Some(DataSchema::Table(schema)) => {
                schema::read(path, schema, options.group_column.as_deref(), &options.limits)?
            }
            _ => csv::read(path, options)?,
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

/// Converts class numbers to targets if the options request it.
fn adapted(examples: Examples, path: &Path, options: &ReadOptions) -> Result<Examples, DataError> {
    let Labels::Classes(classes) = examples.labels() else { return Ok(examples) };
    if options.label_kind != LabelKind::Target {
        return Ok(examples);
    }
    let targets = Labels::Targets(classes.iter().map(|class| *class as f32).collect(), 1);
    content::examples(examples.features().to_vec(), examples.feature_shape().to_vec(), targets, path)
}
