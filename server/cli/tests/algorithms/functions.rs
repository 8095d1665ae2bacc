//! Tests of functions over whole tasks in a virtual world: the other side of the protocol is a thread.

use std::{
    io::{Cursor, PipeReader, PipeWriter, Read, Write, pipe, sink},
    sync::Arc,
    thread,
};

use folkmoot_simulation::{
    functions::{CallingProcess, Role},
    simulate::{Outcome, Silent, SimulateError, simulate},
};
use serde_json::{Value, json};

use crate::simulate::{bits, run, simulation, task, world};

/// The number of rounds.
const ROUNDS: u64 = 4;

/// The process that has the functions: it combines updates by a plain mean, and adds the aggregate to the weights.
struct Caller {
    input: PipeReader,
    output: PipeWriter,
    /// The version for which a function fails; 0 for none.
    fails_at: u64,
}

impl Caller {
    fn read(&mut self) -> (u8, Vec<u8>) {
        let (mut kind, mut length) = ([0], [0; 8]);
        self.input.read_exact(&mut kind).expect("the simulation runs");
        self.input.read_exact(&mut length).expect("the simulation runs");
        let mut content = vec![0; u64::from_le_bytes(length) as usize];
        self.input.read_exact(&mut content).expect("the simulation runs");
        (kind[0], content)
    }

    fn write(&mut self, kind: u8, content: &[u8]) {
        let written = [&[kind][..], &(content.len() as u64).to_le_bytes(), content].concat();
        self.output.write_all(&written).expect("the simulation runs");
    }

    fn asked(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        self.write(kind, content);
        let (kind, values) = self.read();
        assert_eq!(kind, 4);
        values
    }

    /// Answers until the simulation ends. Returns the versions of its calls.
    fn serve(mut self) -> Vec<u64> {
        let (kind, hello) = self.read();
        let hello: Value = serde_json::from_slice(&hello).expect("it is JSON");
        assert_eq!((kind, &hello["protocol"]), (1, &json!(1)));
        assert_eq!(hello["tensors"][1], json!({ "name": "layer_1.bias", "shape": [64] }));
        self.write(1, br#"{ "protocol": 1 }"#);
        let mut versions = Vec::new();
        loop {
            let (kind, content) = self.read();
            if kind == 5 {
                return versions;
            }
            let facts: Value = serde_json::from_slice(&content).expect("it is JSON");
            let version = facts["version"].as_u64().expect("there is a version");
            versions.push(version);
            if version == self.fails_at {
                self.write(6, b"there is no such thing");
                return versions;
            }
            match kind {
                2 => self.aggregate(facts["updates"].as_array().expect("they are a list").len() as u64),
                _ => self.finalize(),
            }
        }
    }

    /// Reads one half of the model and then the other.
    fn aggregate(&mut self, updates: u64) {
        let parameters = (self.asked(3, &[]).len() / 4) as u64;
        let half = parameters / 2;
        let mut result = Vec::new();
        for (first, count) in [(0, half), (half, parameters - half)] {
            let wanted = [0, updates, first, count].map(u64::to_le_bytes).concat();
            let rows = floats(&self.asked(2, &wanted));
            for at in 0..count as usize {
                let column = rows.iter().skip(at).step_by(count as usize);
                let mean = column.map(|value| f64::from(*value)).sum::<f64>() / updates as f64;
                result.extend(mean.to_le_bytes());
            }
        }
        self.write(5, &result);
    }

    fn finalize(&mut self) {
        let weights = floats(&self.asked(3, &[]));
        let aggregate = self.asked(4, &[]);
        let aggregate = aggregate.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let next = weights.iter().zip(aggregate).map(|(weight, change)| (f64::from(*weight) + change) as f32);
        self.write(5, &next.flat_map(f32::to_le_bytes).collect::<Vec<u8>>());
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Simulates with functions for these parts. Returns the result, and the versions of the calls.
async fn with_functions(roles: &[Role], fails_at: u64) -> (Result<Outcome, SimulateError>, Vec<u64>) {
    let (input, to_program) = pipe().expect("there are pipes");
    let (from_program, output) = pipe().expect("there are pipes");
    let caller = Caller { input: from_program, output: to_program, fails_at };
    let caller = thread::spawn(move || caller.serve());
    let mut simulation =
        simulation(task(&json!({ "stop": { "rounds": ROUNDS } })), world(&json!({})), 1, None);
    simulation.functions = Some(Arc::new(CallingProcess::new(roles.to_vec(), input, output)));
    let outcome = Box::pin(simulate(simulation, &mut Silent)).await;
    (outcome, caller.join().expect("it answers"))
}

#[tokio::test]
async fn functions_can_be_the_mean_and_the_step() {
    let uniform = json!({ "aggregator": { "kind": "uniform_mean" }, "stop": { "rounds": ROUNDS } });
    let built_in = run(task(&uniform), world(&json!({})), 1).await;
    for roles in [&[Role::Aggregator][..], &[Role::Aggregator, Role::Finalizer]] {
        let (outcome, versions) = with_functions(roles, 0).await;
        let outcome = outcome.expect("the simulation runs");
        let expected: Vec<u64> =
            (1..=ROUNDS).flat_map(|version| roles.iter().map(move |_| version)).collect();
        assert_eq!(versions, expected);
        let is_near = |(one, other): (&f32, &f32)| (one - other).abs() <= 1e-4;
        assert!(outcome.weights.iter().zip(&built_in.weights).all(is_near));
        let again = with_functions(roles, 0).await.0.expect("the simulation runs");
        assert_eq!(bits(&again.weights), bits(&outcome.weights));
    }
}

#[tokio::test]
async fn a_function_that_fails_ends_the_simulation() {
    for roles in [[Role::Aggregator], [Role::Finalizer]] {
        let (outcome, versions) = with_functions(&roles, 2).await;
        let error = outcome.map(|outcome| outcome.version).expect_err("a function fails");
        assert_eq!((error.to_string(), versions), ("there is no such thing".to_owned(), vec![1, 2]));
    }
}

/// Returns the error of a simulation whose other side sends these bytes.
async fn error_after(sent: &[u8]) -> String {
    let mut simulation = simulation(task(&json!({})), world(&json!({})), 1, None);
    let calling = CallingProcess::new(vec![Role::Aggregator], Cursor::new(sent.to_vec()), sink());
    simulation.functions = Some(Arc::new(calling));
    let outcome = Box::pin(simulate(simulation, &mut Silent)).await;
    outcome.map(|outcome| outcome.version).expect_err("it is refused").to_string()
}

#[tokio::test]
async fn frames_that_are_not_in_the_protocol_are_refused() {
    let frame =
        |kind: u8, length: u64, content: &[u8]| [&[kind][..], &length.to_le_bytes(), content].concat();
    let hello = frame(1, 15, br#"{"protocol": 1}"#);
    let after_hello = |rest: Vec<u8>| [hello.clone(), rest].concat();
    let read = |numbers: [u64; 4]| after_hello(frame(2, 32, &numbers.map(u64::to_le_bytes).concat()));
    for (sent, words) in [
        (Vec::new(), "cannot be reached"),
        (frame(1, 1 << 40, &[]), "in place of a hello"),
        (frame(1, 15, br#"{"protocol": 2}"#), "the version 2 of the protocol in place of 1"),
        (hello.clone(), "cannot be reached"),
        (after_hello(frame(5, 8, &[0; 8])), "a frame of kind 5 with 8 bytes"),
        (after_hello(frame(6, u64::MAX, &[])), "a frame of kind 6 with"),
        (after_hello(frame(4, 0, &[])), "a frame of kind 4 with 0 bytes"),
        (read([0, u64::MAX, 0, 1]), "there are"),
        (read([u64::MAX, 2, 0, 1]), "there are"),
        (read([0, 1, 1, 4810]), "4810 parameters from 1"),
        (after_hello(frame(5, 4810 * 8, &[255; 4810 * 8])), "NaN for parameter 0; it must be finite"),
    ] {
        let error = error_after(&sent).await;
        assert!(error.contains(words), "{words}: {error}");
    }
}
