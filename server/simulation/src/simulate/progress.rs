use crate::record::RoundRow;

/// Who is told how a simulation goes on.
pub trait Progress {
    /// A round is over.
    fn round(&mut self, row: &RoundRow);
    /// Virtual time has come to so many seconds.
    fn time(&mut self, _virtual_seconds: f64) {}
    /// Says whether the simulation is to stop.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn round(&mut self, _row: &RoundRow) {}
}
