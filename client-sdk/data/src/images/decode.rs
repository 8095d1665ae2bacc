//! Decodes one image.

use std::{io::Cursor, path::Path};

use image::{DynamicImage, ImageDecoder, ImageError, ImageReader, metadata::Orientation};

use crate::{Fault, Limits, file};

/// The maximum number of bytes per pixel: four channels of two bytes.
const PIXEL_BYTES_MAX: u64 = 8;
/// The maximum number of bytes that a decoder may use in addition to the pixels.
const DECODER_BYTES_MAX: u64 = 1 << 26;

/// The size and the kind of an image, from its header.
pub(super) struct Header {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) is_grey: bool,
}

impl Header {
    /// Reads the header of a PNG or JPEG image. Returns the width and the height of the upright image.
    pub(super) fn read(content: &[u8], limits: &Limits) -> Result<Self, Fault> {
        let mut decoder = open(content, limits)?;
        let ((width, height), is_grey) = (decoder.dimensions(), !decoder.color_type().has_color());
        let is_turned = matches!(
            orientation(&mut decoder),
            Orientation::Rotate90
                | Orientation::Rotate270
                | Orientation::Rotate90FlipH
                | Orientation::Rotate270FlipH
        );
        let (width, height) = if is_turned { (height, width) } else { (width, height) };
        Ok(Self { width, height, is_grey })
    }
}

/// An image with separate channels.
pub(super) struct Image {
    pub(super) width: u32,
    pub(super) height: u32,
    /// The brightness of each pixel from 0 to 1, row-major: one channel for grey images, three for colour.
    pub(super) channels: Vec<Vec<f32>>,
}

impl Image {
    /// Decodes a PNG or JPEG image. The content decides the format, not the file name.
    ///
    /// Skips the pixels if the size in the header differs from that of the first image.
    pub(super) fn decode(content: &[u8], first: Option<&Self>, limits: &Limits) -> Result<Self, Fault> {
        let decoder = open(content, limits)?;
        let (width, height) = decoder.dimensions();
        if first.is_some_and(|first| (first.width, first.height) != (width, height)) {
            // Skip decoding: `fit` reports that the size differs.
            return Ok(Self { width, height, channels: Vec::new() });
        }
        let image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
        Ok(Self { width, height, channels: channels(&image)? })
    }

    /// Decodes a PNG or JPEG image, and turns it by the orientation in its EXIF data.
    pub(super) fn decode_upright(content: &[u8], limits: &Limits) -> Result<Self, Fault> {
        let mut decoder = open(content, limits)?;
        let orientation = orientation(&mut decoder);
        let mut image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
        image.apply_orientation(orientation);
        Ok(Self { width: image.width(), height: image.height(), channels: channels(&image)? })
    }

    /// Compares the image with the first one. Converts a grey image to colour if the first one is in colour.
    pub(super) fn fit(&mut self, first: &Self, first_path: &Path) -> Result<(), Fault> {
        let from = file::name(first_path);
        if (self.width, self.height) != (first.width, first.height) {
            let (width, height) = (first.width, first.height);
            let reason =
                format!("is {} × {} pixels, but {from} is {width} × {height}", self.width, self.height);
            return Err(Fault::new(reason, "make all images of one size"));
        }
        match (first.channels.len(), self.channels.len()) {
            (3, 1) => self.channels = vec![self.channels[0].clone(); 3],
            (1, 3) => {
                let reason = format!("is in colour, but {from}, the first image, is grey");
                return Err(Fault::new(reason, "save all images in colour, or all grey"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the number of values in all channels together.
    pub(super) fn values(&self) -> u64 {
        self.shape().iter().map(|size| *size as u64).product()
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        vec![self.channels.len(), self.height as usize, self.width as usize]
    }

    /// Appends the channels, one after another.
    pub(super) fn push(&self, features: &mut Vec<f32>) {
        features.extend(self.channels.iter().flatten());
    }

    /// Returns the image without pixels, for comparison with other images.
    pub(super) fn without_samples(&self) -> Self {
        let channels = vec![Vec::new(); self.channels.len()];
        Self { width: self.width, height: self.height, channels }
    }
}

/// Opens an image. Compares the size in its header with the limit before memory for pixels is allocated.
fn open<'a>(content: &'a [u8], limits: &Limits) -> Result<impl ImageDecoder + 'a, Fault> {
    let mut reader = ImageReader::new(Cursor::new(content))
        .with_guessed_format()
        .map_err(|error| unreadable(ImageError::IoError(error)))?;
    let pixels_max = limits.image_pixels_max;
    let mut decoder_limits = image::Limits::default();
    decoder_limits.max_alloc =
        Some(pixels_max.saturating_mul(PIXEL_BYTES_MAX).saturating_add(DECODER_BYTES_MAX));
    reader.limits(decoder_limits);
    let decoder = reader.into_decoder().map_err(unreadable)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > pixels_max {
        let reason = format!("is {width} × {height} pixels, more than the limit of {pixels_max}");
        return Err(Fault::new(reason, "make it smaller, or raise image_pixels_max"));
    }
    Ok(decoder)
}

/// Returns the orientation in the EXIF data. Ignores a damaged entry, because the pixels may still be valid.
fn orientation(decoder: &mut impl ImageDecoder) -> Orientation {
    decoder.orientation().unwrap_or(Orientation::NoTransforms)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes the error")]
fn unreadable(error: ImageError) -> Fault {
    Fault::new(format!("cannot be read as a PNG or JPEG image: {error}"), "save it again as PNG or JPEG")
}

/// Separates the channels and drops an opaque alpha channel.
fn channels(image: &DynamicImage) -> Result<Vec<Vec<f32>>, Fault> {
    let interleaved = usize::from(image.color().channel_count()).max(1);
    let samples = samples(image)?;
    let channel =
        |index: usize| samples.iter().skip(index).step_by(interleaved).copied().collect::<Vec<f32>>();
    let mut channels: Vec<Vec<f32>> = (0..interleaved).map(channel).collect();
    if image.color().has_alpha() {
        let alpha = channels.pop().unwrap_or_default();
        if alpha.iter().any(|value| *value < 1.0) {
            return Err(Fault::new("has transparent pixels", "save it without an alpha channel"));
        }
    }
    Ok(channels)
}

/// Returns the samples of all pixels, from 0 to 1, with the channels of a pixel next to each other.
fn samples(image: &DynamicImage) -> Result<Vec<f32>, Fault> {
    let bytes = |samples: &[u8]| samples.iter().map(|sample| f32::from(*sample) / 255.0).collect();
    let words = |samples: &[u16]| samples.iter().map(|sample| f32::from(*sample) / 65535.0).collect();
    Ok(match image {
        DynamicImage::ImageLuma8(image) => bytes(image.as_raw()),
        DynamicImage::ImageLumaA8(image) => bytes(image.as_raw()),
        DynamicImage::ImageRgb8(image) => bytes(image.as_raw()),
        DynamicImage::ImageRgba8(image) => bytes(image.as_raw()),
        DynamicImage::ImageLuma16(image) => words(image.as_raw()),
        DynamicImage::ImageLumaA16(image) => words(image.as_raw()),
        DynamicImage::ImageRgb16(image) => words(image.as_raw()),
        DynamicImage::ImageRgba16(image) => words(image.as_raw()),
        other => {
            let reason = format!("has pixels of the kind {:?}", other.color());
            return Err(Fault::new(reason, "save it with 8 or 16 bits a channel"));
        }
    })
}
