use crate::record::RoundRow;

/// Receives the progress of a simulation.
pub trait Progress {
    /// Called when a round has ended.
    fn round(&mut self, row: &RoundRow);
    /// Called when virtual time has advanced. The argument is the number of virtual seconds since the beginning.
    fn time(&mut self, _virtual_seconds: f64) {}
    /// Returns whether the simulation should stop.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A receiver that ignores the progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn round(&mut self, _row: &RoundRow) {}
}
