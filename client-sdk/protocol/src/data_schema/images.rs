//! Schemas of images: their size, their scale and their classes.

use serde::{Deserialize, Serialize};

use super::table::expect_different;
use crate::{
    Fault,
    limits::{IMAGE_CLASSES_MAX, IMAGE_SIDE_MAX},
};

/// The rules that turn images of any size into features of one shape, and folder names into classes.
///
/// An image is turned upright by its EXIF orientation, converted to grey or to colour, resized, and scaled: brightness b
/// from 0 (black) to 1 (white) in channel c becomes (b − `mean`\[c\]) / `deviation`\[c\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImageSchema {
    /// The width in pixels after resizing, 1 to 4096.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = IMAGE_SIDE_MAX)))]
    pub width: u32,
    /// The height in pixels after resizing, 1 to 4096.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = IMAGE_SIDE_MAX)))]
    pub height: u32,
    /// True for one channel of brightness (0.299 red + 0.587 green + 0.114 blue, as in ITU-R BT.601), false for the
    /// three channels red, green and blue.
    #[serde(default, skip_serializing_if = "is_false")]
    pub grey: bool,
    /// The treatment of images whose proportions differ from `width` and `height`.
    #[serde(default, skip_serializing_if = "ImageFit::is_default")]
    pub fit: ImageFit,
    /// The brightness that becomes 0, for each channel; by default 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [[0.485, 0.456, 0.406]])))]
    pub mean: Vec<f64>,
    /// The scale of each channel, above 0; by default 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [[0.229, 0.224, 0.225]])))]
    pub deviation: Vec<f64>,
    /// The names of the folders with the images of class 0, 1, 2 and so on. A client may lack some of them; a folder with
    /// another name is refused.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = IMAGE_CLASSES_MAX)))]
    pub classes: Vec<String>,
}

/// The treatment of images whose proportions differ from those of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImageFit {
    /// Resizes the image until it covers the whole area, and keeps its centre. Use it for photographs.
    #[default]
    Crop,
    /// Resizes the image until all of it is inside, and fills the rest with the mean. Use it where edges matter.
    Pad,
    /// Resizes width and height separately, which distorts the image.
    Stretch,
}

impl ImageFit {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl ImageSchema {
    /// Returns the number of channels: 1 or 3.
    pub fn channel_count(&self) -> usize {
        if self.grey { 1 } else { 3 }
    }

    /// Returns the shape of an example: `[channels, height, width]`.
    pub fn feature_shape(&self) -> [usize; 3] {
        [self.channel_count(), self.height as usize, self.width as usize]
    }

    /// Returns the mean and the deviation of a channel.
    pub fn scale(&self, channel: usize) -> (f64, f64) {
        let value = |values: &[f64], default| values.get(channel).copied().unwrap_or(default);
        (value(&self.mean, 0.0), value(&self.deviation, 1.0))
    }

    /// Checks the schema for contradictions.
    ///
    /// # Errors
    /// A [`Fault`] whose field is a path in the schema of the data.
    pub fn check(&self) -> Result<(), Fault> {
        for (field, side) in [("images.width", self.width), ("images.height", self.height)] {
            if !(1..=IMAGE_SIDE_MAX).contains(&side) {
                let message = format!("is {side}, and must be 1 to {IMAGE_SIDE_MAX}");
                return Err(Fault::new(field, message, "give the size that the model accepts"));
            }
        }
        let channels = self.channel_count();
        for (field, values, is_scale) in
            [("images.mean", &self.mean, false), ("images.deviation", &self.deviation, true)]
        {
            if !values.is_empty() && values.len() != channels {
                let message = format!("has {} numbers for {channels} channels", values.len());
                return Err(Fault::new(field, message, "give one number for each channel, or none"));
            }
            if values.iter().any(|value| !value.is_finite() || (is_scale && *value <= 0.0)) {
                let message = if is_scale {
                    "has a number that is not above 0"
                } else {
                    "has a number that is not finite"
                };
                return Err(Fault::new(field, message, "correct the number"));
            }
        }
        expect_different(&self.classes, "classes")
            .map_err(|reason| Fault::new("images.classes", reason, "name each folder once"))?;
        if self.classes.len() > IMAGE_CLASSES_MAX {
            let message = format!("has {} names, and the limit is {IMAGE_CLASSES_MAX}", self.classes.len());
            return Err(Fault::new("images.classes", message, "merge classes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> ImageSchema {
        let classes = vec!["cat".into(), "dog".into()];
        let (mean, deviation) = (vec![0.5; 3], vec![0.25; 3]);
        ImageSchema { width: 8, height: 4, grey: false, fit: ImageFit::Crop, mean, deviation, classes }
    }

    #[test]
    fn a_fault_names_its_field() {
        assert_eq!(schema().check(), Ok(()));
        let field = |schema: ImageSchema| schema.check().unwrap_err().field;
        assert_eq!(field(ImageSchema { width: 0, ..schema() }), "images.width");
        assert_eq!(field(ImageSchema { height: IMAGE_SIDE_MAX + 1, ..schema() }), "images.height");
        assert_eq!(field(ImageSchema { grey: true, ..schema() }), "images.mean");
        assert_eq!(field(ImageSchema { mean: vec![f64::NAN, 0.0, 0.0], ..schema() }), "images.mean");
        assert_eq!(field(ImageSchema { deviation: vec![1.0, 0.0, 1.0], ..schema() }), "images.deviation");
        assert_eq!(field(ImageSchema { classes: vec!["cat".into(); 2], ..schema() }), "images.classes");
        assert_eq!(field(ImageSchema { classes: Vec::new(), ..schema() }), "images.classes");
    }

    #[test]
    fn a_channel_without_numbers_keeps_its_brightness() {
        let plain = ImageSchema { mean: Vec::new(), deviation: Vec::new(), ..schema() };
        assert_eq!((plain.scale(2), schema().scale(2)), ((0.0, 1.0), (0.5, 0.25)));
    }
}
