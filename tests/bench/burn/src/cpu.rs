//! Measures the CPU time of a step on the `flex` backend.

use crate::{Arguments, Failure, VERSION, backend::Backend, models, process, timing};

/// Measures the CPU time and prints one JSON object.
///
/// # Errors
/// Fails if the inputs cannot be read or the training fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let device = Backend::Flex.device()?;
    let rows = None;
    let mut prepared = models::prepare(arguments.model, arguments.folder.as_deref(), rows, &device)?;
    let mut step = || prepared.training.step(arguments.learning_rate).into_scalar::<f32>();
    let mut loss = f32::NAN;
    for _ in 0..arguments.checked_steps {
        loss = step();
    }
    let cpu_ms = timing::milliseconds(|| {
        step();
        Ok(())
    })?;
    let peak_memory_mib = process::peak_memory(std::process::id())? as f64 / f64::from(1 << 20);
    debug_assert!(timing::is_cpu_time(), "burn is measured by the clock");
    println!(
        r#"{{"cpu_ms": {cpu_ms}, "loss": {loss}, "peak_memory_mib": {peak_memory_mib}, "version": "{VERSION}"}}"#
    );
    Ok(())
}
