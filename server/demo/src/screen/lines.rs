use super::{Files, Screen, Serving, Started, say, text};
use crate::report::{Report, RoundReport};

/// Prints one line for each round, for logs and pipes.
#[derive(Default)]
pub struct LinesScreen {
    rounds: u32,
}

impl Screen for LinesScreen {
    fn started(&mut self, started: &Started) {
        self.rounds = started.rounds;
        text::started(started).iter().for_each(|line| say(line));
    }

    fn round(&mut self, round: &RoundReport) {
        say(&text::round(round, self.rounds));
    }

    fn finished(&mut self, report: &Report, files: &Files) {
        text::finished(report, files).iter().for_each(|line| say(line));
    }

    fn serving(&mut self, serving: &Serving) {
        text::serving(serving).iter().for_each(|line| say(line));
    }
}
