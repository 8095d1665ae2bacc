//! Draws a small curve for the terminal with braille characters.

/// The size of the curve in characters.
const WIDTH: usize = 60;
const HEIGHT: usize = 8;
/// The dots of one character.
const DOTS_WIDE: usize = 2;
const DOTS_HIGH: usize = 4;
/// The bit of each dot in a Unicode braille character, by row and column.
const BITS: [[u8; DOTS_WIDE]; DOTS_HIGH] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
const BRAILLE: u32 = 0x2800;

/// Draws accuracies as lines of text with axes. The accuracies are 0 to 1: the initial one first, then one for each
/// round.
pub fn accuracy_curve(accuracies: &[f64]) -> Vec<String> {
    let mut cells = [[0u8; WIDTH]; HEIGHT];
    let columns = WIDTH * DOTS_WIDE;
    let rows = HEIGHT * DOTS_HIGH;
    let mut before = None;
    for column in 0..columns {
        let row = row_of(value_at(accuracies, column as f64 / (columns - 1) as f64), rows);
        // A steep step is drawn as a vertical line, not as two dots.
        let from = before.unwrap_or(row);
        for dot in row.min(from)..=row.max(from) {
            cells[dot / DOTS_HIGH][column / DOTS_WIDE] |= BITS[dot % DOTS_HIGH][column % DOTS_WIDE];
        }
        before = Some(row);
    }
    let mut lines = vec!["held-out accuracy".to_owned()];
    lines.extend(cells.iter().enumerate().map(|(index, cells)| {
        let label = match index {
            0 => "100 %",
            index if index == HEIGHT / 2 => "50 %",
            index if index + 1 == HEIGHT => "0 %",
            _ => "",
        };
        let dots: String =
            cells.iter().filter_map(|bits| char::from_u32(BRAILLE + u32::from(*bits))).collect();
        format!("{label:>6} ┤{dots}")
    }));
    let last = format!("round {}", accuracies.len().saturating_sub(1));
    lines.push(format!("{:>6} └{}", "", "─".repeat(WIDTH)));
    lines.push(format!("{:>6}  0{last:>width$}", "", width = WIDTH - 1));
    lines
}

/// Returns the value at `position` (0 to 1) of the polyline through the values.
fn value_at(values: &[f64], position: f64) -> f64 {
    let at = position * values.len().saturating_sub(1) as f64;
    let left = at.floor() as usize;
    let value = |index: usize| values.get(index).or(values.last()).copied().unwrap_or_default();
    value(left) + (value(left + 1) - value(left)) * at.fract()
}

/// Returns the row of dots, counted from the top, for a value from 0 to 1.
fn row_of(value: f64, rows: usize) -> usize {
    let height = (value.clamp(0.0, 1.0) * (rows - 1) as f64).round() as usize;
    rows - 1 - height
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_as_wide() {
        let lines = accuracy_curve(&[0.1, 0.5, 0.9]);
        assert_eq!(lines.len(), HEIGHT + 3);
        let widths: Vec<usize> = lines[1..].iter().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == WIDTH + 8), "{widths:?}");
        assert!(lines[HEIGHT + 2].ends_with("round 2"));
    }

    #[test]
    fn it_rises_from_the_bottom_to_the_top() {
        let lines = accuracy_curve(&[0.0, 1.0]);
        let dots = |line: &str| line.chars().skip(8).collect::<Vec<_>>();
        assert_ne!(dots(&lines[HEIGHT])[0], '\u{2800}');
        assert_ne!(dots(&lines[1])[WIDTH - 1], '\u{2800}');
        assert_eq!(dots(&lines[1])[0], '\u{2800}');
    }

    #[test]
    fn one_value_and_none_are_drawn_too() {
        assert_eq!(accuracy_curve(&[0.5]).len(), accuracy_curve(&[]).len());
    }
}
