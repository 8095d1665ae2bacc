//! Tests the influence of one hostile client among twenty, with a task's default settings. The tests send encoded
//! updates and check the mean.

use folkmoot_aggregation::{AggregatorChoice, Combination, Extent, Measured};
use folkmoot_protocol::{
    AssignmentId, RoundId, Timestamp, UpdateDigest, ValueGrid,
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_round_log::RoundLog;
use folkmoot_storage::AcceptedUpdate;
use folkmoot_update::encode_update;

use super::{Announced, ExpectedUpdate, Ingest, RoundSum, Upload};

/// The number of parameters: more than one tile of the sum, and not a multiple of the tile size.
const COUNT: usize = 40_000;
const CLIENTS: u8 = 20;
const HOSTILE: u8 = 7;
/// The maximum change that an honest client makes to a parameter.
const HONEST: f32 = 0.01;

fn round() -> RoundId {
    RoundId::from_random_bytes([9; 16])
}

/// Returns the weight and values that client `number` sends.
fn sent(number: u8) -> (u64, Vec<f32>) {
    if number == HOSTILE {
        let grid = ValueGrid::default();
        return (grid.weight_max, vec![grid.value_max; COUNT]);
    }
    let value = |index: usize| HONEST * ((index * 31 + usize::from(number) * 7) % 101) as f32 / 100.0;
    (40 + u64::from(number), (0..COUNT).map(value).collect())
}

/// Sends an update in pieces of `bytes` bytes.
fn send(ingest: &Ingest, number: u8, bytes: usize) -> AcceptedUpdate {
    let id = AssignmentId::from_random_bytes([number; 16]);
    let (grid, aggregator) = (ValueGrid::default(), AggregatorChoice::default());
    let expected = ExpectedUpdate::summed(id, round(), (COUNT, grid), aggregator);
    let (weight, values) = sent(number);
    let header = UpdateHeader {
        assignment_id: id,
        schema_digest: expected.schema_digest,
        base_version: 0,
        weight,
        metrics: UpdateMetrics::default(),
        element_count: COUNT as u64,
        is_compressed: false,
    };
    let update = encode_update(&header, &values);
    let announced = Announced { digest: UpdateDigest::of(&update), length: update.len() as u64 };
    let segment = ingest.log().open(round(), id).expect("nobody writes it");
    let mut upload = Upload::open(ingest, segment, expected, announced).expect("it is as it must be");
    update.chunks(bytes).try_for_each(|piece| upload.push(piece)).expect("every value is on the grid");
    upload.finish(ingest, Timestamp(1)).expect("the digest is that of the bytes")
}

/// Closes the round. Returns the norm and peak of each update, the combination, and the sum.
fn closed(ingest: &Ingest, accepted: &[AcceptedUpdate]) -> (Vec<Extent>, Combination, Vec<i64>) {
    let aggregator = AggregatorChoice::default();
    let sum = ingest.sum_of(round(), ValueGrid::default(), COUNT, aggregator.measurement());
    let extents = sum.measure(ingest.log(), accepted).expect("the log is in memory");
    let weights: Vec<u64> = accepted.iter().map(|update| update.weight).collect();
    let measured = Measured::Extents(extents.clone());
    let combination = aggregator.combination(&weights, &vec![1.0; weights.len()], &measured);
    let Combination::Mean { factors, .. } = &combination else { unreachable!("the default is a mean") };
    sum.reconcile(ingest.log(), accepted, factors).expect("the log is in memory");
    (extents, combination, sums(&sum))
}

fn sums(sum: &RoundSum) -> Vec<i64> {
    let mut sums = Vec::new();
    sum.for_each_tile(|tile| sums.extend_from_slice(tile));
    sums
}

fn all(ingest: &Ingest, bytes: usize) -> Vec<AcceptedUpdate> {
    (0..CLIENTS).map(|number| send(ingest, number, bytes)).collect()
}

#[test]
fn one_of_twenty_moves_no_parameter_by_more_than_three_honest_clients() {
    let (with, without) = (Ingest::new(RoundLog::in_memory()), Ingest::new(RoundLog::in_memory()));
    let mut accepted = all(&with, 64 * 1024);
    let (_, combination, all_sums) = closed(&with, &accepted);
    let Combination::Mean { factors, .. } = &combination else { unreachable!("the default is a mean") };
    // Compute the sum over the honest clients alone, with the same factors.
    let honest_factors: Vec<f64> =
        (0..CLIENTS).filter(|one| *one != HOSTILE).map(|one| factors[usize::from(one)]).collect();
    accepted.remove(usize::from(HOSTILE));
    for number in (0..CLIENTS).filter(|one| *one != HOSTILE) {
        send(&without, number, 64 * 1024);
    }
    let sum = without.sum_of(round(), ValueGrid::default(), COUNT, AggregatorChoice::default().measurement());
    sum.reconcile(without.log(), &accepted, &honest_factors).expect("the log is in memory");
    let step = (-f64::from(ValueGrid::default().fraction_bits)).exp2();
    let moved = all_sums.iter().zip(sums(&sum)).map(|(with, without)| (with - without) as f64 * step);
    let most = moved.fold(0.0, f64::max);
    let median_weight = 50.0;
    let honest = median_weight * f64::from(HONEST);
    assert!(most > 0.9 * honest, "it takes part: {most}");
    assert!(most <= 3.0 * honest * (1.0 + 1e-6), "{most} of {honest}");
}

/// The result must not depend on the pieces in which the network delivers the bytes, or on a restart in between.
#[test]
fn what_is_measured_while_it_arrives_is_what_the_log_says() {
    let ingest = Ingest::new(RoundLog::in_memory());
    let accepted = all(&ingest, 64 * 1024);
    let in_passing = closed(&ingest, &accepted);
    // A repeated commit must give the same result.
    assert_eq!(closed(&ingest, &accepted), in_passing);
    ingest.forget_sum(round());
    assert_eq!(closed(&ingest, &accepted), in_passing, "from the log alone");
    let cut_otherwise = Ingest::new(RoundLog::in_memory());
    let accepted = all(&cut_otherwise, 1_001);
    assert_eq!(closed(&cut_otherwise, &accepted), in_passing);
}
