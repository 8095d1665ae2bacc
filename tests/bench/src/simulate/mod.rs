//! `bench simulate`: measures how many virtual clients train per second and how much memory a client needs. Compares
//! our simulation with Flower's.

mod case;
pub mod environment;
mod flower;
pub mod simulator;
mod table;
mod watch;

use case::Case;
use folkmoot_engine::{ImportLimits, Model, Trainer, evaluate};
use folkmoot_protocol::Loss;
use table::{Row, Table};

use crate::{Failure, folder::TemporaryFolder};

/// The tolerated relative difference between Flower's loss and ours. The two have different cohorts and batches.
const LOSS_TOLERANCE: f64 = 0.05;

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// 10,000 clients, 100 rounds, 100 clients a round
    Many,
    /// 1,000 clients, 100 rounds, 10 clients a round, compared with Flower
    Flower,
    /// 100,000 clients, 200 rounds, 100 clients a round
    Most,
    /// One thread compared with all threads
    Threads,
}

/// The parts to measure.
#[derive(clap::Args)]
pub struct Arguments {
    /// Parts to run
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Part::Many, Part::Flower, Part::Most, Part::Threads])]
    parts: Vec<Part>,
    /// Run fewer clients and rounds, to check that it works
    #[arg(long)]
    quick: bool,
    /// Skip Flower
    #[arg(long)]
    without_peer: bool,
    /// Python interpreter to try for Flower; the first one that has it is used. By default, Flower is installed into a
    /// separate environment
    #[arg(long)]
    python: Vec<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Measures the chosen parts and prints the table.
///
/// # Errors
/// Fails if a simulation fails, or if two runs differ whose results must be equal.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let table = Table::new(arguments.json);
    let mut faults = Vec::new();
    for part in &arguments.parts {
        match part {
            Part::Many => {
                let case = match arguments.quick {
                    false => Case::logistic_regression("many", 10_000, 100, 100),
                    true => Case::logistic_regression("many", 1000, 20, 10),
                };
                measure_with_memory(&case, &table, &mut faults)?;
            }
            Part::Most => {
                let case = match arguments.quick {
                    false => Case::logistic_regression("most", 100_000, 100, 200),
                    true => Case::logistic_regression("most", 10_000, 100, 5),
                };
                measure_with_memory(&Case { examples_per_client: 1, ..case }, &table, &mut faults)?;
            }
            Part::Flower => compare_with_flower(arguments, &table, &mut faults)?,
            Part::Threads => compare_threads(arguments, &table, &mut faults)?,
        }
    }
    table.finish();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

/// Simulates a case, and the same case with one client. The memory of a client is the difference of the peak memories,
/// divided by the number of additional clients.
fn measure_with_memory(
    case: &Case,
    table: &Table,
    faults: &mut Vec<String>,
) -> Result<(Row, Vec<u8>), Failure> {
    let folder = TemporaryFolder::new(&case.name)?;
    let simulated = simulator::measure(case, folder.path())?;
    let one = simulator::measure(&case.of_one_client(), folder.path())?;
    let mut row = Row::of(case, &simulated.report);
    let peaks = simulated.report.peak_bytes.zip(one.report.peak_bytes);
    let others = (case.clients - 1).max(1) as f64;
    row.bytes_per_client = peaks.map(|(all, one)| all.saturating_sub(one) as f64 / others);
    table.print(&row)?;
    faults.extend(simulator::shortfall(case, &simulated.report));
    Ok((row, simulated.weights))
}

fn compare_with_flower(
    arguments: &Arguments,
    table: &Table,
    faults: &mut Vec<String>,
) -> Result<(), Failure> {
    let case = match arguments.quick {
        false => Case::logistic_regression("flower", 1000, 10, 100),
        true => Case::logistic_regression("flower", 100, 10, 5),
    };
    let case = Case { examples_per_client: 60, ..case };
    let (own, weights) = measure_with_memory(&case, table, faults)?;
    let model = Model::from_onnx(&case.onnx(), &ImportLimits::default())?;
    let examples = case.examples()?;
    let weights: Vec<f32> =
        weights.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let loss =
        evaluate(&model, &weights, &examples, Loss::SoftmaxCrossEntropy)?.mean_loss().unwrap_or(f64::NAN);
    table.note(&format!("    our last weights' loss over all examples is {loss:.4}"));
    let steps = steps_of_a_client(&case, &model, &examples)?;
    if steps != case.steps() {
        return Err(format!("our client performed {steps} steps; {} were expected", case.steps()).into());
    }
    if arguments.without_peer {
        return Ok(());
    }
    let folder = TemporaryFolder::new("flower")?;
    flower::write_inputs(folder.path(), &examples, &model.initial_weights())?;
    drop(examples);
    let measured = match flower::measure(&case, folder.path(), &arguments.python)? {
        Ok(measured) => measured,
        Err(reason) => {
            let package = environment::PACKAGE;
            let reason = format!("{reason}. Install it with `pip install '{package}'`");
            return table.print(&Row { left_out: Some(reason), ..Row::of_peer(&case) });
        }
    };
    table.print(&Row::of_flower(&case, &measured, &own))?;
    let differences = [
        (measured.steps_per_client != steps as f64)
            .then(|| format!("Flower's clients take {} steps, ours {steps}", measured.steps_per_client)),
        (measured.rounds != case.rounds)
            .then(|| format!("Flower did {} rounds of {}", measured.rounds, case.rounds)),
        (!is_near(measured.loss, loss)).then(|| format!("Flower's loss is {}, ours {loss}", measured.loss)),
    ];
    faults.extend(differences.into_iter().flatten());
    Ok(())
}

/// Trains on one client's share of the examples, as a client does, and returns the number of steps.
fn steps_of_a_client(
    case: &Case,
    model: &Model,
    examples: &folkmoot_engine::Examples,
) -> Result<u64, Failure> {
    let held = examples.subset(&(0..case.examples_per_client).collect::<Vec<_>>())?;
    let mut trainer = Trainer::new(model, &model.initial_weights(), case.description()?.plan, &held, 1)?;
    while !trainer.progress().finished {
        trainer.advance(1)?;
    }
    Ok(trainer.outcome().metrics.step_count)
}

/// Simulates the same case on all threads and on one thread. The final weights must be identical.
fn compare_threads(arguments: &Arguments, table: &Table, faults: &mut Vec<String>) -> Result<(), Failure> {
    let rounds = if arguments.quick { 3 } else { 20 };
    let folder = TemporaryFolder::new("threads")?;
    for (name, hidden) in [("threads", vec![]), ("threads, 2nn", vec![200, 200])] {
        let case = Case::logistic_regression(name, 1000, 100, rounds);
        let all = Case { hidden, examples_per_client: 60, ..case };
        let one = Case { threads: 1, ..all.clone() };
        let on_all = simulator::measure(&all, folder.path())?;
        let on_one = simulator::measure(&one, folder.path())?;
        table.print(&Row::of(&all, &on_all.report))?;
        let mut row = Row::of(&one, &on_one.report);
        row.times_folkmoot = Some(on_one.report.seconds / on_all.report.seconds);
        table.print(&row)?;
        if on_all.weights != on_one.weights {
            faults.push(format!(
                "{name}: the weights of one thread differ from those of {} threads",
                all.threads
            ));
        }
    }
    Ok(())
}

/// Returns `true` if Flower's loss is close to ours, and `false` if it is NaN.
fn is_near(theirs: f64, ours: f64) -> bool {
    (theirs - ours).abs() <= LOSS_TOLERANCE * ours
}
