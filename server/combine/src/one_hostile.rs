//! Tests the influence of one hostile client in a round with a robust rule and the settings of `folkmoot task new`. The
//! tests send encoded updates and compare the weights of the next version.
//!
//! H is the set of honest clients, and `version(X)` the weights that the updates of X produce. For each parameter, a
//! test compares `|version(H + hostile) − version(H)|` with the largest `|version(H + one) − version(H)|`. Here `one`
//! is another honest client, which sends the same update as a member of H. The comparison is exact, without a
//! tolerance.

use std::{collections::BTreeMap, path::Path};

use bytes::Bytes;
use folkmoot_aggregation::{AggregatorChoice, finalizer::Commit};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_noise::Noises;
use folkmoot_protocol::{
    AssignmentId, RoundId, Timestamp, UpdateDigest, ValueGrid,
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_round_log::RoundLog;
use folkmoot_storage::AcceptedUpdate;
use folkmoot_task_file::{self as task_file, TemplateChoices};
use folkmoot_update::encode_update;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use crate::{
    Bases, Making, Own,
    ingest::{Announced, ExpectedUpdate, Ingest, Upload},
    rows::floats,
};

/// The number of parameters. It is not a multiple of `BLOCK`, the unit of a tile's size.
const COUNT: usize = 2_500;
/// The maximum change that an honest client makes to a parameter.
const HONEST: f32 = 0.01;
/// The rules for which the guide promises that one client moves no parameter by more than an honest client does.
const ROBUST: [&str; 2] = ["trimmed_mean", "median"];

/// Returns the task that `folkmoot task new --aggregator` writes. The console's form has the same default values.
fn wizards(aggregator: &str) -> TaskDescription {
    let choices = TemplateChoices { aggregator: Some(aggregator.into()), ..TemplateChoices::default() };
    let text = task_file::template(&choices).expect("the wizard writes what is right");
    task_file::read(Path::new("task.toml"), &text).expect("and it can be read")
}

fn honest(number: u8) -> Vec<f32> {
    let mut rng = ChaCha20Rng::seed_from_u64(number.into());
    (0..COUNT).map(|_| rng.random_range(-0.3..1.0) * HONEST).collect()
}

/// Returns hostile updates that the coordinator accepts in a round with `honest_clients` honest updates.
fn hostile(honest_clients: u8) -> Vec<Vec<f32>> {
    let most = ValueGrid::default().value_max;
    let all: Vec<Vec<f32>> = (0..honest_clients).map(honest).collect();
    let mean = |index: usize| all.iter().map(|values| values[index]).sum::<f32>() / f32::from(honest_clients);
    let mean: Vec<f32> = (0..COUNT).map(mean).collect();
    let lone = |value: f32| {
        let mut values = mean.clone();
        values[COUNT / 2] = value;
        values
    };
    vec![
        vec![most; COUNT],
        vec![-most; COUNT],
        // The opposite of the honest mean, once with the largest accepted values and once with the size of an honest
        // update.
        mean.iter().map(|value| -most * value.signum()).collect(),
        all[0].iter().map(|value| -value).collect(),
        vec![0.0; COUNT],
        // The honest mean, except for one parameter.
        lone(most),
        lone(15.0 * HONEST),
    ]
}

/// A round in which all updates have arrived. Each call of `version` chooses the updates to combine.
struct Arrived {
    description: TaskDescription,
    ingest: Ingest,
    sent: BTreeMap<u8, AcceptedUpdate>,
}

impl Arrived {
    fn new(description: TaskDescription) -> Self {
        Self { description, ingest: Ingest::new(RoundLog::in_memory()), sent: BTreeMap::new() }
    }

    fn round() -> RoundId {
        RoundId::from_random_bytes([9; 16])
    }

    fn send(&mut self, number: u8, weight: u64, values: &[f32]) {
        let id = AssignmentId::from_random_bytes([number; 16]);
        let (grid, aggregator) = (self.description.grid, self.description.aggregator.clone());
        let expected = ExpectedUpdate::summed(id, Self::round(), (COUNT, grid), aggregator);
        let header = UpdateHeader {
            assignment_id: id,
            schema_digest: expected.schema_digest,
            base_version: 0,
            weight,
            metrics: UpdateMetrics::default(),
            element_count: COUNT as u64,
            is_compressed: false,
        };
        let update = encode_update(&header, values);
        let announced = Announced { digest: UpdateDigest::of(&update), length: update.len() as u64 };
        let segment = self.ingest.log().open(Self::round(), id).expect("nobody writes it");
        let mut upload =
            Upload::open(&self.ingest, segment, expected, announced).expect("it is as it must be");
        upload.push(&update).expect("every value is on the grid");
        let accepted = upload.finish(&self.ingest, Timestamp(1)).expect("the digest is that of the bytes");
        self.sent.insert(number, accepted);
    }

    /// Returns the weights of the version that these updates produce.
    fn version(&self, numbers: impl IntoIterator<Item = u8>) -> Vec<f32> {
        let accepted: Vec<AcceptedUpdate> = numbers.into_iter().map(|one| self.sent[&one].clone()).collect();
        let newest: Vec<u8> =
            (0..COUNT).flat_map(|index| (index as f32 / 1000.0 - 1.0).to_le_bytes()).collect();
        let making = Making {
            description: self.description.clone(),
            round_id: Self::round(),
            attenuations: vec![1.0; accepted.len()],
            partial: None,
            accepted,
            newest: Bytes::from(newest),
            bases: Bases::default(),
            finalizer_state: None,
            commit: Commit { number: 1, ..Commit::default() },
            private: None,
            masked: None,
            parts: None,
            own: Own::default(),
            members: Vec::new(),
            examples: None,
        };
        let made = making.make(&self.ingest, &Noises::default()).expect("the log is in memory");
        floats(&made.weights).collect()
    }
}

/// Returns how far each parameter moved. The difference of two float32 numbers is exact in float64.
fn moved(from: &[f32], to: &[f32]) -> Vec<f64> {
    from.iter().zip(to).map(|(from, to)| (f64::from(*to) - f64::from(*from)).abs()).collect()
}

fn largest(moves: impl IntoIterator<Item = Vec<f64>>) -> Vec<f64> {
    moves
        .into_iter()
        .fold(vec![0.0; COUNT], |most, one| most.iter().zip(one).map(|(most, one)| most.max(one)).collect())
}

/// Returns the largest change to each parameter that one hostile client among `clients` clients causes, and the largest
/// change that one more honest client causes.
fn influences(description: TaskDescription, clients: u8) -> (Vec<f64>, Vec<f64>) {
    let honest_clients = clients - 1;
    let mut round = Arrived::new(description);
    for number in 0..honest_clients {
        round.send(number, 40 + u64::from(number), &honest(number));
        round.send(100 + number, 40 + u64::from(number), &honest(number));
    }
    let attacks = hostile(honest_clients);
    for (number, values) in (200..).zip(&attacks) {
        round.send(number, ValueGrid::default().weight_max, values);
    }
    let alone = round.version(0..honest_clients);
    let with = |number: u8| moved(&alone, &round.version((0..honest_clients).chain([number])));
    let by_hostile = largest((200..).zip(&attacks).map(|(number, _)| with(number)));
    let by_honest = largest((0..honest_clients).map(|number| with(100 + number)));
    (by_hostile, by_honest)
}

fn exceeding((by_hostile, by_honest): &(Vec<f64>, Vec<f64>)) -> usize {
    by_hostile.iter().zip(by_honest).filter(|(hostile, honest)| hostile > honest).count()
}

#[test]
fn under_the_wizards_robust_rules_one_of_twenty_moves_no_parameter_by_more_than_an_honest_client() {
    for rule in ROBUST {
        let influences = influences(wizards(rule), 20);
        assert!(influences.0.iter().all(|moved| *moved > 0.0), "{rule}: it takes part");
        assert_eq!(exceeding(&influences), 0, "{rule}");
    }
}

/// Runs the same test with fewer updates: a round may commit with as few as a robust rule needs.
#[test]
fn nor_does_one_of_any_fewer() {
    for rule in ROBUST {
        for clients in 3..20 {
            assert_eq!(exceeding(&influences(wizards(rule), clients)), 0, "{rule} with {clients} clients");
        }
    }
}

/// Shows that the comparison can fail, because other rules guarantee less. Krum compares whole updates, so it can
/// choose a hostile update that resembles the others in all parameters except one.
#[test]
fn under_the_other_rules_one_client_moves_a_parameter_by_more() {
    let krum = json!({ "kind": "krum", "byzantine_share": 0.2 });
    for (aggregator, most) in
        [(json!({ "kind": "weighted_mean" }), 1_000.0), (json!({ "kind": "bounded_mean" }), 1.0), (krum, 5.0)]
    {
        let aggregator: AggregatorChoice = serde_json::from_value(aggregator).expect("it is a choice");
        let influences =
            influences(TaskDescription { aggregator: aggregator.clone(), ..wizards("median") }, 20);
        assert!(exceeding(&influences) > 0, "{aggregator:?}");
        let ratio = |(hostile, honest): (&f64, &f64)| hostile / honest;
        let worst = influences.0.iter().zip(&influences.1).map(ratio).fold(0.0, f64::max);
        assert!(worst > most, "{aggregator:?}: {worst}");
    }
}
