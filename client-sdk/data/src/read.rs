//! From a path to examples.

use std::path::Path;

use folkmoot_engine::{Examples, Labels, data::LabelKind};

use crate::{
    DataError, Dataset, Format, ReadOptions, cifar, content, csv, guess, idx, images, leaf, npy, npz, parquet,
};

/// Reads examples, and whose they are where the file says so, from a file or a folder.
///
/// Features are float32; bytes of images, IDX and CIFAR become 0 to 1, channels first. The same file gives the same
/// examples in the same order on every machine: folders are read in the order of their names.
///
/// # Errors
/// Returns a [`DataError`] that names the file, the place in it, and what to do.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Dataset, DataError> {
    let format = match options.format {
        Some(format) => format,
        None => guess::format(path, &options.limits)?,
    };
    options.check(format, path)?;
    let dataset = match format {
        Format::Csv => csv::read(path, options)?,
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

/// Makes what the options want of labels and shape, if it is not that already.
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
