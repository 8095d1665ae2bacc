//! Derives a schema from a folder of images.

use std::path::Path;

use folkmoot_protocol::{ImageFit, ImageSchema};
use serde::Serialize;

use super::{
    decode::{Header, Image},
    encode,
    folders::classes,
};
use crate::{DataError, Fault, Limits, file, moments::Moments};

/// Options for deriving a schema from images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageInferOptions {
    /// The width and the height after resizing, in pixels. By default, images keep their size, which must be the same
    /// for all.
    pub size: Option<(u32, u32)>,
    /// True for one channel, also if images are in colour. If false, the schema has one channel if all images are grey.
    pub grey: bool,
    /// The treatment of images with other proportions.
    pub fit: ImageFit,
    /// The limits on the size of the data.
    pub limits: Limits,
}

/// A schema, and a summary of the images.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InferredImages {
    /// The schema. It has one class for each folder, in the order in which classes are numbered without a schema.
    pub schema: ImageSchema,
    /// The number of images that were read.
    pub image_count: u64,
    /// The number of images of each class.
    pub class_counts: Vec<u64>,
}

/// Derives a schema from the folders of images. The function reads the header of each image for the size, and then the image
/// for the mean and the deviation of each channel after resizing.
///
/// # Errors
/// [`DataError`] if an image cannot be read, there is only one class, or the sizes differ and the options have no size.
pub fn infer(path: &Path, options: &ImageInferOptions) -> Result<InferredImages, DataError> {
    let classes = classes(path, &options.limits)?;
    if classes.len() < 2 {
        let fault = Fault::new("has only one class", "put the images of each class into a folder of its own");
        return Err(DataError::invalid(path, fault));
    }
    let (mut size, mut grey) = (options.size, true);
    for path in classes.iter().flat_map(|class| &class.images) {
        let content = file::bytes(path, &options.limits)?;
        let header = Header::read(&content, &options.limits);
        let Header { width, height, is_grey } = header.map_err(|fault| DataError::invalid(path, fault))?;
        grey &= is_grey;
        let (first_width, first_height) = *size.get_or_insert((width, height));
        if options.size.is_none() && (width, height) != (first_width, first_height) {
            let reason = format!(
                "is {width} × {height} pixels, but earlier images are {first_width} × {first_height}"
            );
            let remedy = "choose the size that the model accepts with --width and --height";
            return Err(DataError::invalid(path, Fault::new(reason, remedy)));
        }
    }
    let (width, height) = size.unwrap_or_default();
    let (mean, deviation) = (Vec::new(), Vec::new());
    let names = classes.iter().map(|class| file::name(&class.folder)).collect();
    let grey = grey || options.grey;
    let mut schema = ImageSchema { width, height, grey, fit: options.fit, mean, deviation, classes: names };
    schema.check().map_err(|fault| DataError::invalid(path, fault.into()))?;
    let mut moments: Vec<Moments> = (0..schema.channel_count()).map(|_| Moments::default()).collect();
    // Padding is not a part of the images.
    let whole = ImageSchema { fit: without_padding(options.fit), ..schema.clone() };
    let mut features = Vec::new();
    for path in classes.iter().flat_map(|class| &class.images) {
        features.clear();
        let content = file::bytes(path, &options.limits)?;
        let image = Image::decode_upright(&content, &options.limits);
        encode::push(image.map_err(|fault| DataError::invalid(path, fault))?, &whole, &mut features);
        let pixels = schema.width as usize * schema.height as usize;
        for (moments, channel) in moments.iter_mut().zip(features.chunks_exact(pixels)) {
            channel.iter().for_each(|sample| moments.add(f64::from(*sample)));
        }
    }
    (schema.mean, schema.deviation) = moments.iter().map(|moments| rounded(moments.scale())).unzip();
    let class_counts: Vec<u64> = classes.iter().map(|class| class.images.len() as u64).collect();
    Ok(InferredImages { schema, image_count: class_counts.iter().sum(), class_counts })
}

fn without_padding(fit: ImageFit) -> ImageFit {
    if fit == ImageFit::Pad { ImageFit::Stretch } else { fit }
}

/// Rounds to four digits after the point, a finer step than that of 8-bit pixels. A deviation stays above 0.
fn rounded((mean, deviation): (f64, f64)) -> (f64, f64) {
    let round = |value: f64| (value * 1e4).round() / 1e4;
    (round(mean), round(deviation).max(1e-4))
}
