/// Receives the progress of attacks, from several threads.
pub trait Progress: Sync {
    /// Called when a phase of `steps` steps begins.
    fn phase(&self, name: &str, steps: u64);
    /// Called when a step of the phase is done.
    fn step(&self);
}

/// A receiver that ignores the progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn phase(&self, _name: &str, _steps: u64) {}

    fn step(&self) {}
}
