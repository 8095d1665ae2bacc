use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Files, Screen, Serving, Started, say, text};
use crate::{
    report::{Report, RoundReport},
    traffic::RoundTraffic,
};

const BAR: &str = "{prefix}  {bar:20.cyan/dim}  {msg}";

/// Shows a progress bar of the reports in each round, and replaces it by the result of the round.
#[derive(Default)]
pub struct BarsScreen {
    rounds: u32,
    cohort: u32,
    bar: Option<ProgressBar>,
}

impl BarsScreen {
    fn bar(&mut self, round: u64) -> &ProgressBar {
        self.bar.get_or_insert_with(|| {
            let style =
                ProgressStyle::with_template(BAR).expect("the template is a constant that a test draws");
            let target = ProgressDrawTarget::stdout();
            let bar = ProgressBar::with_draw_target(Some(u64::from(self.cohort)), target);
            bar.with_style(style.progress_chars("━━╌")).with_prefix(text::round_name(round, self.rounds))
        })
    }
}

impl Screen for BarsScreen {
    fn started(&mut self, started: &Started) {
        (self.rounds, self.cohort) = (started.rounds, started.settings.cohort);
        text::started(started).iter().for_each(|line| say(line));
    }

    fn progress(&mut self, round: u64, traffic: RoundTraffic) {
        let bar = self.bar(round);
        bar.set_position(traffic.accepted);
        bar.set_message(format!("{}/{} reports", traffic.accepted, traffic.assigned));
    }

    fn round(&mut self, round: &RoundReport) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        say(&text::round(round, self.rounds));
    }

    fn finished(&mut self, report: &Report, files: &Files) {
        text::finished(report, files).iter().for_each(|line| say(line));
    }

    fn serving(&mut self, serving: &Serving) {
        text::serving(serving).iter().for_each(|line| say(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_one() {
        let mut screen = BarsScreen { rounds: 30, cohort: 10, bar: None };
        screen.progress(1, RoundTraffic { assigned: 10, accepted: 4, ..RoundTraffic::default() });
        assert_eq!(screen.bar(1).position(), 4);
        assert!(ProgressStyle::with_template(BAR).is_ok());
    }
}
