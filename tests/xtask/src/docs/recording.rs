//! Records a run of the demo as an SVG that plays by itself.
//!
//! The picture has the lines that the program printed, each at its time. All times are scaled so that the recording
//! lasts [`SECONDS`]: a longer animation would need a button to stop it.

use super::cli::without_variables;
use super::html::escaped;
use crate::clock;
use crate::process::{run, run_reading, spelled};
use crate::workspace::{Failure, empty, target, write};
use std::fmt::Write as _;
use std::path::Path;

const SECONDS: f64 = 5.0;
/// The number of lines that fit into the window.
const ROWS: usize = 27;
/// The number of characters that fit into a line.
const COLUMNS: usize = 70;
/// The height of a line, and the width of a character, in units of the picture.
const LINE_HEIGHT: usize = 20;
const CHARACTER_WIDTH: f64 = 7.85;
const MARGIN: usize = 16;

/// A line and the second at which it appeared.
type Line = (f64, String);

/// Runs the demo with this program and writes the recording.
///
/// # Errors
/// Fails if the demo fails, or if the file cannot be written.
pub fn record(program: &Path, file: &Path) -> Result<(), Failure> {
    let folder = target().join("recording");
    empty(&folder)?;
    run(without_variables(program).arg("--version"))?;
    let mut demo = without_variables(program);
    demo.arg("demo").current_dir(&folder);
    println!("xtask: docs: {}", spelled(&demo));
    let started = clock::now();
    let mut lines: Vec<Line> = vec![(0.0, "$ folkmoot demo".to_owned())];
    run_reading(&mut demo, |line| {
        let letters: Vec<char> = line.chars().collect();
        let rows = if letters.is_empty() { vec![&letters[..]] } else { letters.chunks(COLUMNS).collect() };
        lines.extend(rows.iter().map(|row| (started.elapsed().as_secs_f64(), row.iter().collect())));
    })?;
    write(file, picture(&lines))?;
    println!("xtask: docs: wrote {}", file.display());
    Ok(())
}

/// Draws the lines. The window moves down when it is full.
fn picture(lines: &[Line]) -> String {
    let last = lines.last().map_or(1.0, |(time, _)| time.max(0.001));
    let width = (CHARACTER_WIDTH * COLUMNS as f64) as usize + 2 * MARGIN;
    let (top, height) = (34, ROWS * LINE_HEIGHT + 12);
    let scrolled = lines.len().saturating_sub(ROWS) * LINE_HEIGHT;
    let mut text = String::new();
    for (index, (time, line)) in lines.iter().enumerate().filter(|(_, (_, line))| !line.is_empty()) {
        let _ = writeln!(
            text,
            "<text x=\"{MARGIN}\" y=\"{}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" style=\"animation-delay:{:.2}s\">{}</text>",
            (index + 1) * LINE_HEIGHT - 5,
            // Signs that the font lacks would otherwise be too wide.
            CHARACTER_WIDTH * line.chars().count() as f64,
            time / last * SECONDS,
            escaped(line)
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" role=\"img\">\n\
         <title>A recording of folkmoot demo: its clients train a model, round by round</title>\n\
         <style>\n\
         text{{font:13px ui-monospace,'Cascadia Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#dce4ee;white-space:pre;\
         animation:show .01s both}}\n\
         #lines{{transform:translateY(-{scrolled}px);animation:scroll {SECONDS}s step-end both}}\n\
         @keyframes show{{from{{opacity:0}}to{{opacity:1}}}}\n\
         @keyframes scroll{{{steps}}}\n\
         @media (prefers-reduced-motion:reduce){{text,#lines{{animation:none}}}}\n\
         </style>\n\
         <rect width=\"{width}\" height=\"{total}\" rx=\"10\" fill=\"#11161d\"/>\n\
         <g fill=\"#36414f\"><circle cx=\"20\" cy=\"18\" r=\"5\"/><circle cx=\"37\" cy=\"18\" r=\"5\"/><circle cx=\"54\" cy=\"18\" r=\"5\"/></g>\n\
         <svg y=\"{top}\" width=\"{width}\" height=\"{height}\"><g id=\"lines\" xml:space=\"preserve\">\n{text}</g></svg>\n\
         </svg>\n",
        total = top + height,
        steps = steps(lines, last),
    )
}

/// Returns the key frames that move the lines up when the window is full.
fn steps(lines: &[Line], last: f64) -> String {
    let mut steps = "0%{transform:translateY(0)}".to_owned();
    for (index, (time, _)) in lines.iter().enumerate().skip(ROWS) {
        let moved = (index + 1 - ROWS) * LINE_HEIGHT;
        let _ = write!(steps, "{:.2}%{{transform:translateY(-{moved}px)}}", time / last * 100.0);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_appear_in_order_and_the_window_follows() {
        let lines: Vec<Line> = (0..31).map(|index| (f64::from(index), format!("line <{index}>"))).collect();
        let picture = picture(&lines);
        assert!(picture.contains("animation-delay:5.00s\">line &lt;30></text>"));
        assert!(picture.contains("translateY(-80px);animation:scroll"));
        assert!(picture.contains("100.00%{transform:translateY(-80px)}"));
        assert_eq!(picture.matches("<text ").count(), 31);
    }
}
