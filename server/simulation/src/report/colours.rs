//! Colours in an SVG and in the style sheet.
//!
//! The drawing library writes a colour as an attribute. The style sheet selects elements by the attribute's value and
//! replaces the colour by that of the reader's theme. So each colour here must have exactly one meaning. An SVG without
//! the style sheet shows the attribute's colours, which are those of the light theme.

use std::fmt::Write as _;

use plotters::style::RGBColor;

use super::RUNS_MAX;

/// A colour in the light and in the dark theme.
struct Pair {
    light: [u8; 3],
    dark: [u8; 3],
}

/// Hues that colour-blind readers can also tell apart by brightness.
const HUES: [Pair; 8] = [
    Pair { light: [0x1F, 0x5A, 0xA6], dark: [0x7A, 0xB4, 0xF5] },
    Pair { light: [0xC8, 0x4B, 0x14], dark: [0xF4, 0x9A, 0x6C] },
    Pair { light: [0x11, 0x7A, 0x65], dark: [0x58, 0xCC, 0xB0] },
    Pair { light: [0x84, 0x42, 0x99], dark: [0xCB, 0xA0, 0xE0] },
    Pair { light: [0x9A, 0x6B, 0x00], dark: [0xE6, 0xBC, 0x4D] },
    Pair { light: [0xB0, 0x20, 0x4B], dark: [0xF5, 0x8F, 0xA8] },
    Pair { light: [0x2E, 0x86, 0xB8], dark: [0x96, 0xD7, 0xF2] },
    Pair { light: [0x5B, 0x63, 0x6E], dark: [0xB3, 0xBB, 0xC6] },
];
const TEXT: Pair = Pair { light: [0x3A, 0x41, 0x4B], dark: [0xC9, 0xD0, 0xDA] };
const AXIS: Pair = Pair { light: [0x8B, 0x93, 0x9E], dark: [0x6B, 0x74, 0x80] };
const GRID: Pair = Pair { light: [0xE2, 0xE6, 0xEB], dark: [0x2C, 0x33, 0x3D] };

/// Returns the colour of a line. After eight lines the hues repeat, and the style sheet draws these lines dashed.
pub(super) fn line(number: usize) -> RGBColor {
    let [red, green, blue] = light_of(number % RUNS_MAX);
    RGBColor(red, green, blue)
}

/// Returns the colour of text.
pub(super) fn text() -> RGBColor {
    RGBColor(TEXT.light[0], TEXT.light[1], TEXT.light[2])
}

/// Returns the colour of an axis.
pub(super) fn axis() -> RGBColor {
    RGBColor(AXIS.light[0], AXIS.light[1], AXIS.light[2])
}

/// Returns the colour of grid lines.
pub(super) fn grid() -> RGBColor {
    RGBColor(GRID.light[0], GRID.light[1], GRID.light[2])
}

/// Returns a hue. Lines with a number of 8 or more differ from it by one step of blue, which is invisible: the style
/// sheet selects dashed lines by this difference.
fn light_of(number: usize) -> [u8; 3] {
    let [red, green, blue] = HUES[number % HUES.len()].light;
    [red, green, if number >= HUES.len() { blue ^ 1 } else { blue }]
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// Returns the rules that apply the colours of the reader's theme.
pub(super) fn style_sheet() -> String {
    let mut variables = (String::new(), String::new());
    let mut rules = String::new();
    let mut pair = |name: &str, pair: &Pair| {
        let _ = write!(variables.0, "--{name}:{};", hex(pair.light));
        let _ = write!(variables.1, "--{name}:{};", hex(pair.dark));
    };
    for (number, hue) in HUES.iter().enumerate() {
        pair(&format!("line-{number}"), hue);
    }
    for (name, others) in [("text", &TEXT), ("axis", &AXIS), ("grid", &GRID)] {
        pair(name, others);
        let found = hex(others.light);
        let _ = writeln!(rules, "svg [fill=\"{found}\"]{{fill:var(--{name})}}");
        let _ = writeln!(rules, "svg [stroke=\"{found}\"]{{stroke:var(--{name})}}");
    }
    for number in 0..RUNS_MAX {
        let (found, hue) = (hex(light_of(number)), number % HUES.len());
        let dashes = if number < HUES.len() { "" } else { ";stroke-dasharray:28 18" };
        let _ = writeln!(rules, "svg [fill=\"{found}\"]{{fill:var(--line-{hue})}}");
        let _ = writeln!(rules, "svg [stroke=\"{found}\"]{{stroke:var(--line-{hue}){dashes}}}");
    }
    let (light, dark) = variables;
    format!(":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{rules}")
}

/// Returns a line's colour in the form that the drawing library writes.
pub(super) fn attribute(number: usize) -> String {
    hex(light_of(number % RUNS_MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the relative luminance of a colour (WCAG 2.2).
    fn luminance(colour: [u8; 3]) -> f64 {
        let channel = |value: u8| {
            let share = f64::from(value) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(colour[0]) + 0.7152 * channel(colour[1]) + 0.0722 * channel(colour[2])
    }

    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_meaning_has_a_colour_of_its_own() {
        let mut all: BTreeSet<String> = (0..RUNS_MAX).map(attribute).collect();
        all.extend([TEXT.light, AXIS.light, GRID.light].map(hex));
        assert_eq!(all.len(), RUNS_MAX + 3);
    }

    #[test]
    fn lines_and_words_stand_out_in_light_and_dark() {
        // WCAG 2.2 requires a contrast of 3 for graphics and of 4.5 for text.
        for hue in &HUES {
            assert!(contrast(hue.light, [255; 3]) >= 3.0, "{:?}", hue.light);
            assert!(contrast(hue.dark, [0x14, 0x18, 0x1E]) >= 3.0, "{:?}", hue.dark);
        }
        assert!(contrast(TEXT.light, [255; 3]) >= 4.5 && contrast(TEXT.dark, [0x14, 0x18, 0x1E]) >= 4.5);
    }
}
