//! `folkmoot privacy …`

mod audit;
mod download;
mod export;
mod export_file;
mod head;
mod ledger;
mod plan;
mod statement;
mod verify;

use clap::Subcommand;

use super::CliError;

/// The subcommands of `folkmoot privacy`.
#[derive(Subcommand)]
pub enum Command {
    /// Compute the noise that a privacy budget needs, and estimate whether a model can learn with it.
    Plan(plan::Args),
    /// Audit a private task with canaries: bound what the released versions reveal about them.
    Audit(audit::Args),
    /// Show a task's privacy guarantee and the budget that it has spent.
    Statement(statement::Args),
    /// List the privacy ledger of a population, and the budget that its tasks have spent.
    Ledger(ledger::Args),
    /// Verify that no entry of a ledger was changed, inserted or removed.
    Verify(verify::Args),
    /// Export a ledger to a file.
    Export(export::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if a number is out of range, if a file cannot be read or written, if the coordinator cannot be reached or
    /// refuses the request, or if a ledger is broken.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Plan(args) => plan::run(&args),
            Command::Audit(args) => Box::pin(audit::run(args)).await,
            Command::Statement(args) => statement::run(args).await,
            Command::Ledger(args) => ledger::run(args).await,
            Command::Verify(args) => verify::run(args).await,
            Command::Export(args) => export::run(args).await,
        }
    }
}

/// Creates the error for a broken ledger.
fn broken(error: &folkmoot_privacy::ledger::ChainError) -> CliError {
    CliError::with_remedy(
        error.to_string(),
        "do not rely on the totals of this ledger; compare it with an earlier export or backup",
    )
}

#[cfg(test)]
mod tests {
    use folkmoot_privacy::{
        NoiseMultiplier, Relation, SamplingRate,
        ledger::{Charge, Entry, Event, Participation, Release},
    };
    use folkmoot_protocol::{RoundId, TaskId, Timestamp};

    /// Returns the ledger of two tasks, one of which claims sampling.
    pub fn entries(count: u64) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for number in 1..=count {
            let rate = SamplingRate::new(0.1 + 0.2).expect("it is a rate");
            let participation = match number % 2 {
                0 => Participation::AtMost { count: 3 },
                _ => Participation::Poisson { rate },
            };
            let noise_multiplier = NoiseMultiplier::new(1.0 + 1.0 / 3.0, Relation::ZeroOut);
            let release = Release {
                task_id: TaskId::from_random_bytes([number as u8 % 2; 16]),
                round_id: RoundId::from_random_bytes([number as u8; 16]),
                version: number.div_ceil(2),
                charge: Charge { noise_multiplier: noise_multiplier.expect("it is in range"), participation },
            };
            let last = entries.last().map(|last| (last.sequence, last.digest));
            let (at, event) = (Timestamp(1_700_000_000_000 + number), Event::Release(release));
            entries.push(Entry::following(last, "digits".parse().expect("it is a name"), at, event));
        }
        entries
    }
}
