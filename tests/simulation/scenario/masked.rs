//! Worlds in which a task masks its updates.

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_coordinator::{
    scheduling::{SchedulingChoice, Synchronous},
    task::{Protection, SecureAggregation, StopConditions},
};
use folkmoot_protocol::secure::Threat;

use super::{Cheat, Faults, Garbage, Nature, Scenario};
use crate::chance::Chance;

/// The random stream of worlds with masks. It is separate, so that adding it did not change the other worlds.
const MASKING: u64 = 98;
/// One world in this number masks the updates of its first task.
const ONE_OF: u64 = 5;
/// Masked worlds are the ones whose seed has this remainder. The seeds of past failures do not.
const REMAINDER: u64 = 2;

const CHEATS: [Cheat; 6] = [
    Cheat::WeakKey,
    Cheat::OtherKeys,
    Cheat::MissingShare,
    Cheat::UnreadableShares,
    Cheat::WrongCommitments,
    Cheat::WrongOpening,
];

/// The invalid uploads that are possible although nobody can see the values.
const GARBAGE: [Garbage; 9] = [
    Garbage::OtherSchema,
    Garbage::OtherVersion,
    Garbage::OtherAssignment,
    Garbage::AnothersAssignment,
    Garbage::TooLong,
    Garbage::TooShort,
    Garbage::NoUpdate,
    Garbage::OtherDigest,
    Garbage::TwoUpdates,
];

/// Lets the first task of some worlds mask its updates, with clients that suffice for it.
pub fn masked(seed: u64, mut scenario: Scenario) -> Scenario {
    if seed % ONE_OF != REMAINDER {
        return scenario;
    }
    let mut chance = Chance::of(seed, MASKING);
    let minimum = chance.within(4..=5);
    let honest = minimum + chance.within(0..=1);
    scenario.clients = vec![Nature::Honest; honest as usize];
    scenario.clients.resize_with(honest as usize + chance.within(1..=4) as usize, || nature(&mut chance));
    let description = &mut scenario.tasks[0].description;
    description.scheduling = SchedulingChoice::Synchronous(Synchronous {
        report_goal: chance.within(minimum..=honest),
        over_selection_factor: Some([1.0, 1.5, 2.0][chance.below(3)]),
        minimum_cohort: Some(minimum),
        selection_deadline_seconds: chance.within(2..=15),
        reporting_deadline_seconds: chance.within(30..=90),
    });
    description.aggregator = match chance.happens(500) {
        true => AggregatorChoice::WeightedMean,
        false => AggregatorChoice::UniformMean,
    };
    // So few members tolerate a malicious coordinator only without colluding members.
    let (threat, corrupt_share) = match chance.happens(400) {
        true => (Threat::Malicious, 0.0),
        false => (Threat::HonestButCurious, [0.0, 0.1][chance.below(2)]),
    };
    let dropout_share = match threat {
        Threat::Malicious => 0.1,
        Threat::HonestButCurious if minimum == 4 => [0.1, 0.2][chance.below(2)],
        Threat::HonestButCurious => [0.1, 0.2, 0.3][chance.below(3)],
    };
    let step_deadline_seconds = chance.within(10..=40);
    description.protection = Protection::SecureAggregation(SecureAggregation {
        threat,
        corrupt_share,
        dropout_share,
        step_deadline_seconds,
    });
    description.stop = StopConditions::after_rounds(chance.within(1..=3));
    assert_eq!(description.validate(), [], "a simulated task is a valid one");
    scenario.faults = rarer(scenario.faults, &mut chance);
    // A masked round has more messages than others.
    scenario.fault_events = chance.within(300..=900);
    scenario
}

/// Makes faults rarer. A masked round loses a client at every missed message, so with the usual rates hardly any round would
/// reach its last step before the faults stop.
fn rarer(faults: Faults, chance: &mut Chance) -> Faults {
    let mut environment = faults.environment;
    environment[7] = 3 * environment.iter().sum::<u64>();
    Faults {
        dropped: faults.dropped / 4,
        doubled: faults.doubled,
        delayed: faults.delayed / 4,
        client_kills: faults.client_kills / 3,
        environment,
        jump_milliseconds_max: [500, 4_000, 30_000][chance.below(3)],
        ..faults
    }
}

fn nature(chance: &mut Chance) -> Nature {
    match chance.within(0..=9) {
        0..=4 => Nature::Vanishing,
        5 => Nature::Stalling,
        6..=7 => Nature::Cheating(CHEATS[chance.below(CHEATS.len())]),
        _ => Nature::Hostile(GARBAGE[chance.below(GARBAGE.len())]),
    }
}
