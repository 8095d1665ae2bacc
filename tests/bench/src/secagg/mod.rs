//! `bench secagg`: measures secure aggregation. A client's time and bytes, and the coordinator's time and memory, compared with
//! the cipher alone and with Flower in the same run; and a committee that removes the masks instead.

mod case;
mod committee;
pub mod coordinator;
mod cpu;
mod exchange;
mod flower;
mod measured;
mod print;
mod rows;

use case::Case;
use chacha20::{
    ChaCha20,
    cipher::{KeyIvInit, StreamCipher},
};
use committee::{COMMITTEES, ClientRow, Committee, MemberRow};
use exchange::Exchange;
use flower::FlowerRow;
use measured::Measured;
use rows::Row;

use crate::{Failure, clock};

/// The bytes of key stream that are measured for the cipher alone.
const CIPHER_BYTES: usize = 64 << 20;
/// The cohorts that are compared with Flower, and the number of rounds of each, of which the fastest counts. Flower takes 20 to 40
/// seconds for a round of 50 clients.
const FLOWER_COHORTS: [(usize, usize); 2] = [(10, 3), (50, 1)];
/// The number of values that are compared with Flower.
const FLOWER_VALUES: usize = 100_000;

/// The extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// Cohorts to measure
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 500, 1000])]
    cohorts: Vec<usize>,
    /// Numbers of values to measure
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 1_000_000])]
    values: Vec<usize>,
    /// Shares of the clients that vanish before they upload
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 0.1, 0.3])]
    drop_outs: Vec<f64>,
    /// Skip Flower
    #[arg(long)]
    without_peer: bool,
    /// Python interpreter to try for Flower; the first one that has it is used. By default, Flower is installed into a
    /// separate environment
    #[arg(long)]
    python: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The threads, and the speed of the cipher alone.
type Machine = (usize, f64);

/// Measures all combinations and prints them.
///
/// # Errors
/// If the terms are impossible for a cohort, or a sum is wrong.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let begin = clock::start();
    let machine = (std::thread::available_parallelism().map_or(1, usize::from), cipher_speed()?);
    let rows = measure_rounds(arguments, machine)?;
    let (flower, left_out) = match compare_with_flower(arguments, machine)? {
        Ok(rows) => (rows, None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    let (committee_clients, committee_members) = measure_committees(arguments, machine)?;
    let measured = Measured {
        threads: machine.0,
        cipher_bytes_per_second: machine.1,
        rows,
        flower,
        left_out,
        committee_clients,
        committee_members,
        seconds: begin.elapsed().as_secs_f64(),
    };
    match arguments.json {
        true => println!("{}", serde_json::to_string(&measured)?),
        false => print::print(&measured),
    }
    Ok(())
}

fn measure_rounds(arguments: &Arguments, machine: Machine) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for &cohort in &arguments.cohorts {
        for &drop_out in &arguments.drop_outs {
            let exchange = exchange(Case { cohort, drop_out }, machine.0)?;
            for &values in &arguments.values {
                let begin = clock::start();
                rows.push(Row::measure(&exchange, values, 1, machine)?);
                eprintln!("    {values} values: {:.1} s", begin.elapsed().as_secs_f64());
            }
        }
    }
    Ok(rows)
}

/// Returns Flower's rounds beside ours, or the reason why there are none.
fn compare_with_flower(
    arguments: &Arguments,
    machine: Machine,
) -> Result<Result<Vec<FlowerRow>, String>, Failure> {
    if arguments.without_peer {
        return Ok(Err("--without-peer".to_owned()));
    }
    let python = match flower::interpreter(&arguments.python) {
        Ok(python) => python,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut rows = Vec::new();
    for (cohort, rounds) in FLOWER_COHORTS {
        for &drop_out in &arguments.drop_outs {
            let exchange = exchange(Case { cohort, drop_out }, machine.0)?;
            let ours = Row::measure(&exchange, FLOWER_VALUES, rounds, machine)?;
            let begin = clock::start();
            let flower = flower::measure(&python, &ours, rounds)?;
            eprintln!("    Flower: {:.1} s", begin.elapsed().as_secs_f64());
            rows.push(FlowerRow::of(ours, flower));
        }
    }
    Ok(Ok(rows))
}

fn measure_committees(
    arguments: &Arguments,
    machine: Machine,
) -> Result<(Vec<ClientRow>, Vec<MemberRow>), Failure> {
    let (mut clients, mut members) = (Vec::new(), Vec::new());
    let most = arguments.cohorts.iter().copied().max().unwrap_or_default();
    let longest = arguments.values.iter().copied().max().unwrap_or_default();
    for shape in COMMITTEES {
        eprintln!("a committee of {} members, of which {} may collude", shape.0, shape.1);
        let committee = Committee::new(shape, most);
        for &values in &arguments.values {
            clients.push(committee.measure_client(most, values)?);
        }
        for &cohort in &arguments.cohorts {
            members.push(committee.measure_member(cohort, longest, machine)?);
        }
    }
    Ok((clients, members))
}

fn exchange(case: Case, threads: usize) -> Result<Exchange, Failure> {
    let begin = clock::start();
    let exchange = Exchange::new(case, threads)?;
    let (vanish, seconds) = (case.drop_out * 100.0, begin.elapsed().as_secs_f64());
    eprintln!("{} clients, {vanish:.0} % vanish: messages exchanged in {seconds:.1} s", case.cohort);
    Ok(exchange)
}

/// Measures the key stream of the cipher alone, in bytes per CPU second.
fn cipher_speed() -> Result<f64, Failure> {
    let mut bytes = vec![0u8; 1 << 16];
    let mut cipher = ChaCha20::new(&[7; 32].into(), &[0; 12].into());
    let mut pass = || {
        cpu::timed(|| {
            (0..CIPHER_BYTES / bytes.len()).for_each(|_| cipher.apply_keystream(&mut bytes));
            Ok(())
        })
    };
    let passes = (0..3).map(|_| Ok(pass()?.1)).collect::<Result<Vec<_>, Failure>>()?;
    let fastest = passes.into_iter().min().unwrap_or_default();
    Ok(CIPHER_BYTES as f64 / fastest.as_secs_f64())
}
