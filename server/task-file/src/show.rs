//! Formats faults below their source lines, like compiler errors.

use super::PlacedFault;

/// The maximum number of characters shown of a source line.
const LINE_CHARS_MAX: usize = 160;
/// The maximum number of faults shown. A file that is not a task file can have very many faults.
const FAULTS_SHOWN_MAX: usize = 100;

const RED: &str = "\x1b[1;31m";
const BLUE: &str = "\x1b[1;34m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Formats the first [`FAULTS_SHOWN_MAX`] faults, and the number of omitted faults.
pub(super) fn text(path: &str, faults: &[PlacedFault], is_coloured: bool) -> String {
    let shown = faults.iter().take(FAULTS_SHOWN_MAX);
    let mut parts: Vec<String> = shown.map(|fault| one(path, fault, is_coloured)).collect();
    let more = faults.len().saturating_sub(FAULTS_SHOWN_MAX);
    if more > 0 {
        parts.push(format!("… and {more} more"));
    }
    parts.join("\n\n")
}

fn one(path: &str, fault: &PlacedFault, is_coloured: bool) -> String {
    let paint = |style: &str, text: &str| match is_coloured {
        true => format!("{style}{text}{PLAIN}"),
        false => text.to_owned(),
    };
    let number = fault.line.to_string();
    let margin = " ".repeat(number.len());
    let (source, column, width) = window(fault);
    let caret = format!("{}{}", " ".repeat(column - 1), paint(RED, &"^".repeat(width)));
    let bar = paint(BLUE, "|");
    let subject = if fault.field.is_empty() { String::new() } else { format!("{}: ", fault.field) };
    let lines = [
        format!("{}: {}", paint(RED, "fault"), paint(BOLD, &format!("{subject}{}", fault.message))),
        format!("{margin}{} {path}:{}:{}", paint(BLUE, "-->"), fault.line, fault.column),
        format!("{margin} {bar}"),
        format!("{} {bar} {}", paint(BLUE, &number), source.trim_end()),
        format!("{margin} {bar} {caret}"),
        format!("{margin} {} remedy: {}", paint(BLUE, "="), fault.remedy),
    ];
    lines.join("\n")
}

/// Returns the visible part of a line, with the column and the width of the fault in that part.
fn window(fault: &PlacedFault) -> (String, usize, usize) {
    let visible = |letter: char| if letter.is_control() { ' ' } else { letter };
    let letters: Vec<char> = fault.source.chars().map(visible).collect();
    if letters.len() <= LINE_CHARS_MAX {
        return (letters.into_iter().collect(), fault.column, fault.width);
    }
    let from = (fault.column - 1).saturating_sub(LINE_CHARS_MAX / 2).min(letters.len() - LINE_CHARS_MAX);
    let part = letters[from..from + LINE_CHARS_MAX].iter().collect();
    let column = fault.column - from;
    (part, column, fault.width.min(LINE_CHARS_MAX + 1 - column).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(source: &str, column: usize, width: usize) -> PlacedFault {
        PlacedFault {
            line: 12,
            column,
            width,
            field: "a.b".into(),
            message: "it is 0".into(),
            remedy: "ask for 1".into(),
            source: source.into(),
        }
    }

    #[test]
    fn the_caret_stands_under_the_fault() {
        let shown = one("task.toml", &fault("b = 0", 5, 1), false);
        let expected =
            "fault: a.b: it is 0\n  --> task.toml:12:5\n   |\n12 | b = 0\n   |     ^\n   = remedy: ask for 1";
        assert_eq!(shown, expected);
        assert!(one("task.toml", &fault("b = 0", 5, 1), true).contains("\x1b[1;31m^\x1b[0m"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_fault() {
        let source = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let (part, column, width) = window(&fault(&source, 501, 900));
        assert_eq!(part.chars().nth(column - 1), Some('X'));
        assert_eq!(part.chars().count(), LINE_CHARS_MAX);
        assert!(column - 1 + width <= LINE_CHARS_MAX);
    }
}
