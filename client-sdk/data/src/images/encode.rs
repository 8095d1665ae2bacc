//! Turns an image into features by a schema.

use folkmoot_protocol::{ImageFit, ImageSchema};
use image::{
    ImageBuffer, Luma,
    imageops::{FilterType, resize},
};

use super::decode::Image;

/// The brightness of red, green and blue (ITU-R BT.601).
const BRIGHTNESS: [f32; 3] = [0.299, 0.587, 0.114];

/// The samples of a channel, row-major.
type Channel = ImageBuffer<Luma<f32>, Vec<f32>>;

/// Appends the features of an image: converted to the schema's channels, resized, and scaled.
///
/// The filter is a triangle as wide as the step between pixels, so it blends all pixels of a larger image. It is the
/// antialiased bilinear filter of Pillow and torchvision. It computes in f32, with the same result on every machine.
pub(super) fn push(image: Image, schema: &ImageSchema, features: &mut Vec<f32>) {
    let (width, height) = (image.width, image.height);
    for (number, samples) in channels(image.channels, schema.grey).into_iter().enumerate() {
        let (mean, deviation) = schema.scale(number);
        let scaled = |sample: f32| ((f64::from(sample) - mean) / deviation) as f32;
        let start = features.len();
        let Some(channel) = Channel::from_raw(width, height, samples) else { continue };
        let resized = fitted(channel, schema);
        let (left, top) = ((schema.width - resized.width()) / 2, (schema.height - resized.height()) / 2);
        features.resize(start + schema.width as usize * schema.height as usize, 0.0);
        let rows = features[start..].chunks_exact_mut(schema.width as usize).skip(top as usize);
        for (row, samples) in rows.zip(resized.as_raw().chunks_exact(resized.width() as usize)) {
            for (feature, sample) in row[left as usize..].iter_mut().zip(samples) {
                *feature = scaled(*sample);
            }
        }
    }
}

/// Returns one channel of brightness, or red, green and blue.
fn channels(mut channels: Vec<Vec<f32>>, grey: bool) -> Vec<Vec<f32>> {
    match (&mut channels[..], grey) {
        ([red, green, blue], true) => {
            for ((red, green), blue) in red.iter_mut().zip(&*green).zip(&*blue) {
                *red = BRIGHTNESS[0] * *red + BRIGHTNESS[1] * green + BRIGHTNESS[2] * blue;
            }
            channels.truncate(1);
            channels
        }
        ([one], false) => vec![std::mem::take(one); 3],
        _ => channels,
    }
}

/// Returns the channel at most as wide and as high as the schema says.
fn fitted(channel: Channel, schema: &ImageSchema) -> Channel {
    let (width, height) = (u64::from(channel.width()), u64::from(channel.height()));
    let (to_width, to_height) = (u64::from(schema.width), u64::from(schema.height));
    match schema.fit {
        ImageFit::Stretch => resized(channel, to_width, to_height),
        ImageFit::Pad if width * to_height >= height * to_width => {
            resized(channel, to_width, proportion(height, to_width, width))
        }
        ImageFit::Pad => resized(channel, proportion(width, to_height, height), to_height),
        ImageFit::Crop => {
            let (part_width, part_height) = if width * to_height >= height * to_width {
                (proportion(height, to_width, to_height).min(width), height)
            } else {
                (width, proportion(width, to_height, to_width).min(height))
            };
            resized(centre(channel, part_width, part_height), to_width, to_height)
        }
    }
}

/// Returns `value · numerator / denominator`, rounded, at least 1.
fn proportion(value: u64, numerator: u64, denominator: u64) -> u64 {
    ((2 * value * numerator + denominator) / (2 * denominator)).max(1)
}

fn centre(channel: Channel, width: u64, height: u64) -> Channel {
    let (width, height) = (to_side(width), to_side(height));
    if (width, height) == channel.dimensions() {
        return channel;
    }
    let (left, top) = ((channel.width() - width) / 2, (channel.height() - height) / 2);
    image::imageops::crop_imm(&channel, left, top, width, height).to_image()
}

fn resized(channel: Channel, width: u64, height: u64) -> Channel {
    let (width, height) = (to_side(width), to_side(height));
    let triangle = |channel: Channel, width: u32, height: u32| match (width, height) == channel.dimensions() {
        true => channel,
        false => resize(&channel, width, height, FilterType::Triangle),
    };
    // The library resizes the height first, which could make a wide image huge. So a growing height is resized last.
    let channel = match height > channel.height() {
        true => {
            let rows = channel.height();
            triangle(channel, width, rows)
        }
        false => channel,
    };
    triangle(channel, width, height)
}

fn to_side(side: u64) -> u32 {
    u32::try_from(side).unwrap_or(u32::MAX)
}
