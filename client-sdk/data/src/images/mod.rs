//! A folder of images: one folder for each class with PNG or JPEG files.

mod decode;
mod encode;
mod folders;
mod infer;

use std::path::{Path, PathBuf};

use decode::Image;
use folders::{Class, classes, no_classes};
use folkmoot_engine::Labels;
use folkmoot_protocol::{DataSchema, ImageSchema};
pub use infer::{ImageInferOptions, InferredImages, infer};

use crate::{DataError, Fault, Limits, ReadOptions, content::Content, file};

/// Reads the images by the schema in the options. Without a schema, reads them as they are.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Content, DataError> {
    let classes = classes(path, &options.limits)?;
    match &options.schema {
        Some(DataSchema::Images { images }) => read_by(images, path, &classes, &options.limits),
        _ => read_unchanged(path, &classes, &options.limits),
    }
}

/// Returns the number of images in the folders of classes, without reading them.
///
/// # Errors
/// [`DataError`] if a folder cannot be read, is empty, or contains files other than images.
pub fn count(path: &Path, limits: &Limits) -> Result<u64, DataError> {
    Ok(image_count(&classes(path, limits)?))
}

fn image_count(classes: &[Class]) -> u64 {
    classes.iter().map(|class| class.images.len() as u64).sum()
}

/// Reads images as the schema says. The position of a class's name in the schema is the number of the class.
fn read_by(
    schema: &ImageSchema,
    path: &Path,
    classes: &[Class],
    limits: &Limits,
) -> Result<Content, DataError> {
    schema.check().map_err(|fault| DataError::invalid(path, fault.into()))?;
    let shape = schema.feature_shape();
    let (count, values) = (image_count(classes), shape.iter().map(|size| *size as u64).product());
    limits.expect_room(path, count, count.saturating_mul(values))?;
    let mut features = Vec::with_capacity(to_length(count.saturating_mul(values)));
    let mut labels = Vec::with_capacity(to_length(count));
    for class in classes {
        let number = number_of(class, schema)?;
        for file in &class.images {
            let content = file::bytes(file, limits)?;
            let image =
                Image::decode_upright(&content, limits).map_err(|fault| DataError::invalid(file, fault))?;
            encode::push(image, schema, &mut features);
            labels.push(number);
        }
    }
    Ok(Content { features, shape: shape.to_vec(), labels: Labels::Classes(labels), groups: None })
}

/// Returns the number of a class by the name of its folder.
fn number_of(class: &Class, schema: &ImageSchema) -> Result<u32, DataError> {
    let name = file::name(&class.folder);
    let number = (0u32..).zip(&schema.classes).find(|(_, other)| **other == name);
    number.map(|(number, _)| number).ok_or_else(|| {
        let fault = Fault::new(
            format!("is not one of the schema's {} classes", schema.classes.len()),
            "give the folder the name of a class, or remove it",
        );
        DataError::invalid(&class.folder, fault)
    })
}

fn to_length(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Reads images of one size as they are. Classes are numbered in their order.
fn read_unchanged(path: &Path, classes: &[Class], limits: &Limits) -> Result<Content, DataError> {
    let count = image_count(classes);
    let mut features = Vec::new();
    let mut labels = Vec::new();
    let mut first: Option<(Image, PathBuf)> = None;
    for (number, class) in (0u32..).zip(classes) {
        for file in &class.images {
            let content = file::bytes(file, limits)?;
            let image = Image::decode(&content, first.as_ref().map(|(image, _)| image), limits);
            let mut image = image.map_err(|fault| DataError::invalid(file, fault))?;
            match &first {
                None => limits.expect_room(path, count, count.saturating_mul(image.values()))?,
                Some((expected, from)) => {
                    image.fit(expected, from).map_err(|fault| DataError::invalid(file, fault))?;
                }
            }
            image.push(&mut features);
            labels.push(number);
            first.get_or_insert_with(|| (image.without_samples(), file.clone()));
        }
    }
    let Some((image, _)) = first else { return Err(no_classes(path)) };
    Ok(Content { features, shape: image.shape(), labels: Labels::Classes(labels), groups: None })
}

#[cfg(test)]
mod tests;
