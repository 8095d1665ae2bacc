use folkmoot_engine::{Examples, Labels};
use serde::{Deserialize, Serialize};

use super::{Dataset, SyntheticError, expect_size};
use crate::{
    CLIENTS_MAX,
    chance::{Stream, below, standard_normal, uniform},
    setting::Check,
};

/// The side of an image in pixels, as in MNIST (LeCun et al. 1998, "Gradient-based learning applied to document
/// recognition").
const SIDE: usize = 28;
/// The number of strokes of a class's image.
const STROKES: usize = 4;
/// The number of points along a stroke.
const POINTS: usize = 12;
/// The radius of the pen in pixels.
const PEN: f64 = 1.4;

/// The purposes of random streams.
const CLASS: u64 = 1;
const EXAMPLE: u64 = 2;

/// Images of 28 × 28 pixels with values from 0 to 1. Each class has one image of random strokes; examples are shifted
/// copies of it with noise.
///
/// The data has MNIST's size and shape but is easier. Use it to measure throughput, not to compare accuracies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MnistLike {
    /// The number of images.
    pub examples: usize,
    /// The number of classes. Consecutive examples take the classes in turn.
    pub classes: u32,
    /// The number of groups. Each is an independent and identically distributed (IID) sample.
    pub clients: usize,
    /// The maximum shift of an image, in pixels.
    pub shift_pixels: usize,
    /// The standard deviation of the noise on every pixel.
    pub noise_deviation: f64,
    /// True if an example has the shape `[1, 28, 28]` of an image rather than `[784]`.
    pub image: bool,
}

impl Default for MnistLike {
    fn default() -> Self {
        Self {
            examples: 10_000,
            classes: 10,
            clients: 100,
            shift_pixels: 2,
            noise_deviation: 0.1,
            image: false,
        }
    }
}

impl MnistLike {
    pub(super) fn make(&self, seed: u64) -> Result<Dataset, SyntheticError> {
        self.check()?;
        expect_size(self.examples, SIDE * SIDE)?;
        let images: Vec<Vec<f64>> = (0..self.classes).map(|class| draw_class(class, seed)).collect();
        let mut features = Vec::with_capacity(self.examples * SIDE * SIDE);
        let class = |index: usize| (index % images.len()) as u32;
        for index in 0..self.examples {
            let mut rng = Stream::new(seed, &[EXAMPLE, index as u64]);
            let image = &images[class(index) as usize];
            let mut shift =
                || below(&mut rng, 2 * self.shift_pixels + 1) as isize - self.shift_pixels as isize;
            let (down, right) = (shift(), shift());
            for pixel in 0..SIDE * SIDE {
                let (row, column) = (pixel / SIDE, pixel % SIDE);
                let ink = at(image, row as isize - down, column as isize - right);
                let noise = self.noise_deviation * standard_normal(&mut rng);
                features.push((ink + noise).clamp(0.0, 1.0) as f32);
            }
        }
        let shape = if self.image { vec![1, SIDE, SIDE] } else { vec![SIDE * SIDE] };
        let labels = Labels::Classes((0..self.examples).map(class).collect());
        // A group gets whole turns of the classes. Otherwise a group could hold only one class.
        let group = |index: usize| ((index / images.len()) % self.clients) as u32;
        let groups = (0..self.examples).map(group).collect();
        Ok(Dataset { examples: Examples::new(features, shape, labels)?, groups })
    }

    fn check(&self) -> Result<(), SyntheticError> {
        let mut check = Check::new("synthetic");
        check.count("clients", self.clients, (1..=CLIENTS_MAX).contains(&self.clients), "from 1 to 100000");
        check.count("classes", self.classes as usize, (1..=1000).contains(&self.classes), "from 1 to 1000");
        check.count("shift_pixels", self.shift_pixels, self.shift_pixels < SIDE, "below 28");
        check.not_negative("noise_deviation", self.noise_deviation);
        let fewest = self.clients.saturating_mul(self.classes as usize);
        let fine = self.examples >= fewest;
        check.count("examples", self.examples, fine, "at least one of each class for each client");
        Ok(check.end()?)
    }
}

/// Returns the value of a pixel; 0 outside the image.
fn at(image: &[f64], row: isize, column: isize) -> f64 {
    let inside = |place: isize| (0..SIDE as isize).contains(&place);
    if inside(row) && inside(column) { image[row as usize * SIDE + column as usize] } else { 0.0 }
}

/// Draws a class's image: strokes with a round pen.
fn draw_class(class: u32, seed: u64) -> Vec<f64> {
    let mut rng = Stream::new(seed, &[CLASS, u64::from(class)]);
    let mut place = || (6.0 + 16.0 * uniform(&mut rng), 6.0 + 16.0 * uniform(&mut rng));
    let mut image = vec![0.0f64; SIDE * SIDE];
    let mut from = place();
    for _ in 0..STROKES {
        let to = place();
        for point in 0..POINTS {
            let along = point as f64 / (POINTS - 1) as f64;
            let (y, x) = (from.0 + along * (to.0 - from.0), from.1 + along * (to.1 - from.1));
            for (pixel, ink) in image.iter_mut().enumerate() {
                let (dy, dx) = ((pixel / SIDE) as f64 - y, (pixel % SIDE) as f64 - x);
                *ink = ink.max((-(dy * dy + dx * dx) / (2.0 * PEN * PEN)).exp());
            }
        }
        from = to;
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_image_of_a_class_tells_the_class() {
        let set = MnistLike { examples: 1000, clients: 10, ..MnistLike::default() };
        let made = set.make(2).unwrap();
        let Labels::Classes(classes) = made.examples.labels() else { panic!("classes were made") };
        let images: Vec<Vec<f64>> = (0..10).map(|class| draw_class(class, 2)).collect();
        let distance = |row: &[f32], image: &[f64]| -> f64 {
            row.iter().zip(image).map(|(x, y)| (f64::from(*x) - y).powi(2)).sum()
        };
        let rows = made.examples.features().chunks(SIDE * SIDE).zip(classes);
        let right = rows.filter(|(row, class)| {
            let scores: Vec<f64> = images.iter().map(|image| -distance(row, image)).collect();
            super::super::largest(&scores) as u32 == **class
        });
        let right = right.count();
        // Random guesses would get about 100 right. Because the images are shifted, some guesses are still wrong.
        assert!((600..1000).contains(&right), "{right}");
        assert!(made.examples.features().iter().all(|pixel| (0.0..=1.0).contains(pixel)));
    }

    #[test]
    fn groups_hold_every_class_and_images_have_their_shape() {
        let set = MnistLike { examples: 200, clients: 7, image: true, ..MnistLike::default() };
        let made = set.make(2).unwrap();
        assert_eq!(made.examples.feature_shape(), [1, 28, 28]);
        let Labels::Classes(classes) = made.examples.labels() else { panic!("classes were made") };
        for group in 0..7 {
            let held = made.groups.iter().zip(classes).filter(|(found, _)| **found == group);
            let held: std::collections::BTreeSet<u32> = held.map(|(_, class)| *class).collect();
            assert_eq!(held.len(), 10);
        }
    }
}
