//! Profiles our executor by operator.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use super::{
    folkmoot::Folkmoot,
    network::Network,
    timing::{REPETITIONS, steps_of_a_repetition},
};
use crate::{Failure, clock};

/// The number of individual calls that are listed.
const LISTED: usize = 12;

/// One call of an operator in a step.
#[derive(Clone, Copy)]
struct Call {
    operator: &'static str,
    /// The position of this call among the calls of the same operator, from 1.
    number: usize,
    flops: u64,
    time: Duration,
}

/// The total of all calls of an operator in a step.
#[derive(Serialize)]
struct Sum {
    model: Network,
    operator: &'static str,
    calls: usize,
    ms: f64,
    share: f64,
    /// Billions of operations per second; 0 if the operator's operations are not counted.
    gflops: f64,
}

/// Prints the time of each operator, and the longest calls.
pub fn print(model: Network, is_json: bool) -> Result<(), Failure> {
    let calls = measure(model)?;
    let sums = sums(model, &calls);
    if is_json {
        return sums.iter().try_for_each(|sum| {
            println!("{}", serde_json::to_string(sum)?);
            Ok(())
        });
    }
    let total: f64 = sums.iter().map(|sum| sum.ms).sum();
    println!("{}: {total:.3} ms in a step, by the clock", model.name());
    println!("  {:<34} {:>6} {:>9} {:>7} {:>9}", "operator", "calls", "ms", "share", "GFLOP/s");
    for sum in &sums {
        let Sum { operator, calls, ms, share, gflops, .. } = sum;
        println!(
            "  {operator:<34} {calls:>6} {ms:>9.4} {share:>6.1}% {rate:>9}",
            share = share * 100.0,
            rate = rate(*gflops)
        );
    }
    println!("  the longest calls:");
    let mut longest = calls;
    longest.sort_by_key(|call| std::cmp::Reverse(call.time));
    for call in longest.iter().take(LISTED) {
        let milliseconds = call.time.as_secs_f64() * 1e3;
        let gflops = call.flops as f64 / milliseconds / 1e6;
        let name = format!("{} #{}", call.operator, call.number);
        let (share, rate) = (milliseconds / total * 100.0, rate(gflops));
        println!("  {name:<34} {:>6} {milliseconds:>9.4} {share:>6.1}% {rate:>9}", "");
    }
    println!();
    Ok(())
}

fn rate(gflops: f64) -> String {
    if gflops > 0.0 { format!("{gflops:.1}") } else { "-".to_owned() }
}

/// Returns the calls of a step with their mean times in the fastest repetition.
fn measure(model: Network) -> Result<Vec<Call>, Failure> {
    let mut folkmoot = Folkmoot::new(model)?;
    let trainer = folkmoot.trainer();
    let steps = steps_of_a_repetition(|| Ok(trainer.step().map(|_| ())?))?;
    let mut fastest: Option<(Duration, Vec<Call>)> = None;
    for _ in 0..REPETITIONS {
        let mut calls: Vec<Call> = Vec::new();
        let mut operators: BTreeMap<&'static str, usize> = BTreeMap::new();
        for step in 0..steps {
            let mut index = 0;
            let mut last = clock::start();
            trainer.step_observed(&mut |operator, flops| {
                if step == 0 {
                    let number = operators.entry(operator).or_default();
                    *number += 1;
                    calls.push(Call { operator, number: *number, flops, time: Duration::ZERO });
                }
                let now = clock::start();
                calls[index].time += now - last;
                (index, last) = (index + 1, now);
            })?;
        }
        let total: Duration = calls.iter().map(|call| call.time).sum();
        if fastest.as_ref().is_none_or(|(least, _)| total < *least) {
            fastest = Some((total, calls));
        }
    }
    let mut calls = fastest.map(|(_, calls)| calls).unwrap_or_default();
    for call in &mut calls {
        call.time /= steps;
    }
    Ok(calls)
}

/// Returns the totals of the operators, the slowest first.
fn sums(model: Network, calls: &[Call]) -> Vec<Sum> {
    let mut by_operator: BTreeMap<&'static str, (usize, u64, Duration)> = BTreeMap::new();
    for call in calls {
        let (count, flops, time) = by_operator.entry(call.operator).or_default();
        *count += 1;
        *flops += call.flops;
        *time += call.time;
    }
    let total: Duration = calls.iter().map(|call| call.time).sum();
    let sum = |(operator, (calls, flops, time)): (_, (usize, u64, Duration))| {
        let ms = time.as_secs_f64() * 1e3;
        let share = time.as_secs_f64() / total.as_secs_f64();
        Sum { model, operator, calls, ms, share, gflops: flops as f64 / ms / 1e6 }
    };
    let mut sums: Vec<Sum> = by_operator.into_iter().map(sum).collect();
    sums.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    sums
}
