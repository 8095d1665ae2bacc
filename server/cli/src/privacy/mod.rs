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

/// Plans privacy, says what a task promises, and checks the ledger of what was spent.
#[derive(Subcommand)]
pub enum Command {
    /// Derive how much noise a budget asks for, and whether anything is learned through it.
    Plan(plan::Args),
    /// Run a task's privacy over canaries, and bound what the released versions gave away.
    Audit(audit::Args),
    /// Say what a task promises its clients, and what it has spent.
    Statement(statement::Args),
    /// List what was released from a population, and what all of it has spent.
    Ledger(ledger::Args),
    /// Check that nothing of a ledger was changed, put in or cut off.
    Verify(verify::Args),
    /// Write a ledger to a file, to keep it elsewhere.
    Export(export::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// If a number cannot be used, a file cannot be read or written, the coordinator refuses, or a ledger is broken.
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

/// Says what a broken ledger means.
fn broken(error: &folkmoot_privacy::ledger::ChainError) -> CliError {
    CliError::with_remedy(
        error.to_string(),
        "do not rely on what this ledger adds up to; compare it with an export or a backup from before",
    )
}

#[cfg(test)]
mod tests {
    use folkmoot_privacy::{
        NoiseMultiplier, Relation, SamplingRate,
        ledger::{Charge, Entry, Event, Participation, Release},
    };
    use folkmoot_protocol::{RoundId, TaskId, Timestamp};

    /// Makes a ledger of two tasks, one of them sampled.
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
