use folkmoot_simulation::{record::RoundRow, simulate::Progress as SimulationProgress};

use super::Progress;

/// Passes the committed rounds of a simulation on as progress.
pub struct Rounds<'a> {
    progress: &'a dyn Progress,
}

impl<'a> Rounds<'a> {
    /// Begins a phase with a step for each round.
    pub fn new(label: &str, rounds: Option<u64>, progress: &'a dyn Progress) -> Self {
        progress.phase(label, rounds.unwrap_or_default());
        Self { progress }
    }
}

impl SimulationProgress for Rounds<'_> {
    fn round(&mut self, row: &RoundRow) {
        if row.version.is_some() {
            self.progress.step();
        }
    }
}
