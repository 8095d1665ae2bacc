//! Tests all methods together: properties, frequencies, and small cases computed by hand.

mod frequencies;
mod laws;
mod token_share;

use std::collections::VecDeque;

use folkmoot_protocol::{ClientId, Timestamp};

use super::{Draw, SelectionChoice};
use crate::participation::{Candidate, History, Start, Waiting};

fn id(number: u16) -> ClientId {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    ClientId::from_bytes(bytes)
}

fn number(id: &ClientId) -> usize {
    usize::from(u16::from_be_bytes([id.as_bytes()[0], id.as_bytes()[1]]))
}

fn client(number: u16) -> Waiting {
    let candidate = Candidate {
        client_id: id(number),
        example_count: 10,
        attributes: [("site".to_owned(), format!("site {}", number % 3))].into(),
        sdk_version: "1.0.0".into(),
    };
    Waiting { candidate: candidate.into(), history: History::default(), user: None, token: None }
}

fn clients(count: u16) -> Vec<Waiting> {
    (0..count).map(client).collect()
}

/// Returns a client that has trained in the given rounds.
fn trained(number: u16, mean_loss: f64, milliseconds: u64, rounds: &[u64]) -> Waiting {
    let recent: VecDeque<Start> =
        rounds.iter().map(|round| Start { round_number: *round, at: Timestamp(round * 1000) }).collect();
    let history = History {
        starts: recent.len() as u64,
        clock: recent.len() as u64,
        recent,
        milliseconds: Some(milliseconds),
        mean_loss: Some(mean_loss),
        example_count: 10,
        ..History::default()
    };
    Waiting { history, ..client(number) }
}

fn round(waiting: &[Waiting], count: usize, round_number: u64) -> Draw<'_> {
    Draw { waiting, count, round_number, now: Timestamp(round_number * 1000), preferred: None }
}

fn choice(json: &str) -> SelectionChoice {
    serde_json::from_str(json).unwrap()
}

/// Returns one choice of every kind.
fn every_kind() -> Vec<SelectionChoice> {
    [
        r#"{"kind":"uniform"}"#,
        r#"{"kind":"poisson","sampling_rate":0.4}"#,
        r#"{"kind":"fixed_size"}"#,
        r#"{"kind":"weighted_by_examples"}"#,
        r#"{"kind":"stratified","attribute":"site"}"#,
        r#"{"kind":"oort"}"#,
        r#"{"kind":"oort","preferred_seconds":2,"participations_max":3,"exploration_share":0.5}"#,
        r#"{"kind":"speed_tiers","tiers":3}"#,
        r#"{"kind":"speed_tiers","tiers":2,"policy":{"weights":[1,0]},"credits":{"draws":[5,5],"rounds":9}}"#,
        r#"{"kind":"speed_tiers","tiers":4,"policy":"by_loss","profiling_share":0}"#,
    ]
    .map(choice)
    .into()
}
