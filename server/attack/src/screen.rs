use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::Progress;

/// Shows a progress bar on a terminal.
pub struct Screen {
    bar: ProgressBar,
}

impl Screen {
    /// Creates the screen. It shows nothing if stderr is not a terminal, or if `is_quiet`.
    pub fn new(is_quiet: bool) -> Self {
        let is_shown = std::io::stderr().is_terminal() && !is_quiet;
        let bar = if is_shown { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{elapsed_precise} {wide_bar} {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar }
    }

    /// Removes the progress bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Screen {
    fn phase(&self, name: &str, steps: u64) {
        self.bar.set_length(steps);
        self.bar.set_position(0);
        self.bar.set_message(name.to_owned());
    }

    fn step(&self) {
        self.bar.inc(1);
    }
}
