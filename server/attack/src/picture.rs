use std::{fmt::Write as _, str::FromStr};

use crate::CannotAttack;

/// The smallest length of a flat row that is taken for a square picture.
const SQUARE_MIN: usize = 64;
/// The side of a picture in a drawing, in units.
const SIDE: f64 = 96.0;
/// The distance between two drawings.
const GAP: f64 = 14.0;
/// The room for a name above a drawing.
const HEAD: f64 = 30.0;
/// The maximum number of bars.
const BARS_MAX: usize = 64;

/// A choice of how examples are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureChoice {
    /// As bars.
    None,
    /// As a picture of this width and height.
    Size(usize, usize),
}

impl FromStr for PictureChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        let sides = text
            .split_once('x')
            .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        let (width, height) = sides.ok_or_else(|| "a size such as 8x8 or `none` is expected".to_owned())?;
        Ok(Self::Size(width, height))
    }
}

/// The form of a picture whose pixels are features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    /// 1 for grey, 3 for red, green and blue.
    channels: usize,
}

impl Picture {
    /// Returns the form of the pictures; `None` if examples are not pictures.
    ///
    /// # Errors
    /// If the chosen size does not have one pixel for each feature.
    pub fn of(shape: &[usize], choice: Option<PictureChoice>) -> Result<Option<Self>, CannotAttack> {
        let features: usize = shape.iter().product();
        match choice {
            Some(PictureChoice::None) => return Ok(None),
            Some(PictureChoice::Size(width, height)) => {
                let pixels = width.saturating_mul(height);
                if pixels != features {
                    return Err(CannotAttack::Picture { width, height, pixels, features });
                }
                return Ok(Some(Self { width, height, channels: 1 }));
            }
            None => {}
        }
        let side = features.isqrt();
        Ok(match *shape {
            [height, width] | [1, height, width] => Some(Self { width, height, channels: 1 }),
            [3, height, width] => Some(Self { width, height, channels: 3 }),
            [_] if features >= SQUARE_MIN && side * side == features => {
                Some(Self { width: side, height: side, channels: 1 })
            }
            _ => None,
        })
    }
}

/// A named example in a drawing.
pub struct Shown<'a> {
    /// The name above the example, in lines.
    pub name: Vec<String>,
    pub example: &'a [f32],
}

/// Draws examples side by side, as pictures or as bars. `ranges` has the range of each feature.
pub fn draw(picture: Option<Picture>, shown: &[Shown<'_>], ranges: (&[f32], &[f32]), label: &str) -> String {
    let width = shown.len() as f64 * (SIDE + GAP) + GAP;
    let height = HEAD + SIDE + GAP;
    let mut svg = format!("<svg role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {width} {height}\">");
    for (place, shown) in shown.iter().enumerate() {
        let left = GAP + place as f64 * (SIDE + GAP);
        for (line, text) in shown.name.iter().enumerate() {
            let (y, text) = (11.0 + 12.0 * line as f64, text.replace('&', "&amp;").replace('<', "&lt;"));
            let _ = write!(
                svg,
                "<text x=\"{left}\" y=\"{y}\" font-size=\"9\" fill=\"currentColor\">{text}</text>"
            );
        }
        match picture {
            Some(picture) => pixels(&mut svg, picture, shown.example, ranges, left),
            None => bars(&mut svg, shown.example, ranges, left),
        }
    }
    svg + "</svg>\n"
}

/// Returns a value as a share of its range.
fn share(value: f32, low: f32, high: f32) -> f64 {
    let (value, low, high) = (f64::from(value), f64::from(low), f64::from(high));
    if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
}

fn pixels(svg: &mut String, picture: Picture, example: &[f32], (low, high): (&[f32], &[f32]), left: f64) {
    let Picture { width, height, channels } = picture;
    let size = SIDE / width.max(height) as f64;
    for row in 0..height {
        for column in 0..width {
            let level = |channel: usize| {
                let place = (channel * height + row) * width + column;
                (255.0 * share(example[place], low[place], high[place])).round()
            };
            let [red, green, blue] = [0, 1, 2].map(|channel| level(channel.min(channels - 1)));
            let (x, y) = (left + column as f64 * size, HEAD + row as f64 * size);
            let _ = write!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{size:.2}\" height=\"{size:.2}\" \
                 fill=\"rgb({red},{green},{blue})\" shape-rendering=\"crispEdges\"/>"
            );
        }
    }
}

fn bars(svg: &mut String, example: &[f32], (low, high): (&[f32], &[f32]), left: f64) {
    let count = example.len().min(BARS_MAX);
    let size = SIDE / count.max(1) as f64;
    let bottom = HEAD + SIDE;
    for feature in 0..count {
        let length = SIDE * share(example[feature], low[feature], high[feature]);
        let (x, y, width) = (left + feature as f64 * size, bottom - length, 0.8 * size);
        let _ = write!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{length:.2}\" fill=\"currentColor\"/>"
        );
    }
    let right = left + SIDE;
    let _ = write!(
        svg,
        "<line x1=\"{left:.2}\" y1=\"{bottom:.2}\" x2=\"{right:.2}\" y2=\"{bottom:.2}\" stroke=\"currentColor\"/>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_pictures_if_they_look_like_it_or_the_operator_says_so() {
        let grey = |width, height| Some(Picture { width, height, channels: 1 });
        assert_eq!(Picture::of(&[64], None).unwrap(), grey(8, 8));
        assert_eq!(Picture::of(&[16], None).unwrap(), None);
        assert_eq!(Picture::of(&[65], None).unwrap(), None);
        assert_eq!(Picture::of(&[1, 28, 20], None).unwrap(), grey(20, 28));
        assert_eq!(Picture::of(&[3, 2, 2], None).unwrap().unwrap().channels, 3);
        assert_eq!(Picture::of(&[64], Some(PictureChoice::None)).unwrap(), None);
        assert_eq!(Picture::of(&[6], Some(PictureChoice::Size(3, 2))).unwrap(), grey(3, 2));
        let error = Picture::of(&[6], Some(PictureChoice::Size(2, 2))).unwrap_err().to_string();
        assert!(error.contains("4 pixels") && error.contains("6 features"), "{error}");
    }

    #[test]
    fn a_drawing_has_a_rectangle_for_each_pixel_or_bar() {
        let example = [0.0, 8.0, 16.0, 4.0];
        let shown = [Shown { name: vec!["original".into(), "< 0.1 %".into()], example: &example }];
        let ranges = ([0.0; 4], [16.0; 4]);
        let picture = Picture::of(&[4], Some(PictureChoice::Size(2, 2))).unwrap();
        let svg = draw(picture, &shown, (&ranges.0, &ranges.1), "a digit");
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(svg.contains(">&lt; 0.1 %<"), "{svg}");
        for grey in ["rgb(0,0,0)", "rgb(128,128,128)", "rgb(255,255,255)", "rgb(64,64,64)"] {
            assert!(svg.contains(grey), "{grey}: {svg}");
        }
        assert!(draw(None, &shown, (&ranges.0, &ranges.1), "a row").contains("height=\"48.00\""));
    }
}
