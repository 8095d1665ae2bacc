//! Runs every scheduling policy over random schedules. Clients of random speeds come, work, vanish and come back.
//! No policy may violate its bound, and every client must be served.

mod dynamic_model;
mod world;

use dynamic_model::Model;
use folkmoot_coordinator::scheduling::{
    Asynchronous, AtBound, Buffered, Correction, DynamicStaleSynchronous, SchedulingChoice, SemiSynchronous,
    StaleSynchronous, Staleness, StalenessWeight, ValueBounded,
};
use proptest::prelude::*;
use world::{Nature, World};

const DEADLINE_SECONDS: u64 = 60;
/// The virtual duration of a run, in seconds.
const SECONDS: u64 = 1_500;

fn bounds() -> impl Strategy<Value = AtBound> {
    prop_oneof![Just(AtBound::Delay), Just(AtBound::Reject)]
}

fn staleness() -> impl Strategy<Value = Staleness> {
    let weight = prop_oneof![
        Just(StalenessWeight::Constant),
        Just(StalenessWeight::Polynomial { exponent: 0.5 }),
        Just(StalenessWeight::Hinge { slope: 2.0, delay: 1 }),
    ];
    (weight, prop::option::of(1u64..6), bounds()).prop_map(|(weight, maximum, at_bound)| Staleness {
        weight,
        maximum,
        at_bound,
        correction: Correction::None,
    })
}

fn stale_synchronous(bound: u64, at_bound: AtBound, concurrency: u64) -> StaleSynchronous {
    StaleSynchronous {
        bound,
        at_bound,
        concurrency,
        staleness_weight: StalenessWeight::Constant,
        correction: Correction::None,
        absence_seconds: 20,
        reporting_deadline_seconds: DEADLINE_SECONDS,
    }
}

fn dynamic(bound_min: u64, bound_max: u64, concurrency: u64) -> DynamicStaleSynchronous {
    DynamicStaleSynchronous {
        bound_min,
        bound_max,
        at_bound: AtBound::Delay,
        concurrency,
        staleness_weight: StalenessWeight::Constant,
        correction: Correction::None,
        absence_seconds: 20,
        reporting_deadline_seconds: DEADLINE_SECONDS,
    }
}

fn policies() -> impl Strategy<Value = SchedulingChoice> {
    let concurrency = 1u64..8;
    prop_oneof![
        (1u64..5, concurrency.clone(), staleness(), prop::option::of(1u64..30)).prop_map(
            |(buffer_goal, concurrency, staleness, commit_after_seconds)| {
                SchedulingChoice::Buffered(Buffered {
                    buffer_goal,
                    concurrency,
                    staleness,
                    commit_after_seconds,
                    reporting_deadline_seconds: DEADLINE_SECONDS,
                })
            }
        ),
        (concurrency.clone(), staleness()).prop_map(|(concurrency, staleness)| {
            SchedulingChoice::Asynchronous(Asynchronous {
                concurrency,
                staleness,
                reporting_deadline_seconds: DEADLINE_SECONDS,
            })
        }),
        (1u64..20, concurrency.clone(), staleness()).prop_map(|(slot_seconds, concurrency, staleness)| {
            SchedulingChoice::SemiSynchronous(SemiSynchronous {
                slot_seconds,
                concurrency,
                minimum_cohort: 1,
                staleness,
                reporting_deadline_seconds: Some(DEADLINE_SECONDS),
            })
        }),
        (0u64..6, bounds(), concurrency.clone()).prop_map(|(bound, at_bound, concurrency)| {
            SchedulingChoice::StaleSynchronous(stale_synchronous(bound, at_bound, concurrency))
        }),
        (0u64..4, 0u64..5, bounds(), concurrency.clone()).prop_map(
            |(bound_min, more, at_bound, concurrency)| {
                SchedulingChoice::DynamicStaleSynchronous(DynamicStaleSynchronous {
                    at_bound,
                    ..dynamic(bound_min, bound_min + more, concurrency)
                })
            }
        ),
        (0.5f64..4.0, bounds(), concurrency).prop_map(|(norm_max, at_bound, concurrency)| {
            SchedulingChoice::ValueBounded(ValueBounded {
                norm_max,
                at_bound,
                concurrency,
                staleness_weight: StalenessWeight::Constant,
                correction: Correction::None,
                reporting_deadline_seconds: DEADLINE_SECONDS,
            })
        }),
    ]
}

fn natures() -> impl Strategy<Value = Vec<Nature>> {
    let nature = prop_oneof![
        4 => (1u64..20).prop_map(|seconds| Nature { seconds, vanishes_in: 0, stays_away_seconds: 0 }),
        1 => (1u64..40).prop_map(|seconds| Nature { seconds, vanishes_in: 4, stays_away_seconds: 90 }),
    ];
    prop::collection::vec(nature, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The world asserts the bounds at every start, acceptance and commit.
    #[test]
    fn no_policy_admits_what_its_bound_forbids(policy in policies(), natures in natures(), seed: u64) {
        // If all clients vanish at times, they can do so forever.
        let is_one_faithful = natures.iter().any(|nature| nature.vanishes_in == 0);
        let mut world = World::new(policy, natures, seed);
        world.run(SECONDS);
        prop_assert!(world.commits > 0 || !is_one_faithful, "nothing was ever committed");
    }

    /// No client vanishes, so every client gets its turn. Within this time each has sent several updates.
    #[test]
    fn everybody_is_served(
        policy in policies(), seconds in prop::collection::vec(1u64..20, 1..8), seed: u64,
    ) {
        let honest = |seconds: &u64| Nature { seconds: *seconds, vanishes_in: 0, stays_away_seconds: 0 };
        let mut world = World::new(policy, seconds.iter().map(honest).collect(), seed);
        world.run(SECONDS);
        let slow_are_dropped = policy.policy().staleness().at_bound == AtBound::Reject
            || matches!(policy, SchedulingChoice::StaleSynchronous(p) if p.at_bound == AtBound::Reject)
            || matches!(policy, SchedulingChoice::DynamicStaleSynchronous(p) if p.at_bound == AtBound::Reject)
            || matches!(policy, SchedulingChoice::ValueBounded(p) if p.at_bound == AtBound::Reject);
        for (client, state) in world.clients.iter().enumerate() {
            prop_assert!(state.starts > 1, "client {client} started {} times", state.starts);
            let served = slow_are_dropped || state.pushes > 1;
            prop_assert!(served, "client {client} brought {} updates", state.pushes);
        }
    }

    /// A bound of 0 is bulk-synchronous: work k of any client begins after work k − 1 of all clients has arrived.
    #[test]
    fn a_bound_of_0_is_synchronous(seconds in prop::collection::vec(1u64..20, 2..7), seed: u64) {
        let count = seconds.len() as u64;
        let honest = |seconds: &u64| Nature { seconds: *seconds, vanishes_in: 0, stays_away_seconds: 0 };
        let policy = SchedulingChoice::StaleSynchronous(stale_synchronous(0, AtBound::Delay, count));
        let mut world = World::new(policy, seconds.iter().map(honest).collect(), seed);
        world.run(SECONDS);
        let mut rounds: Vec<Vec<(u64, u64)>> = Vec::new();
        for client in &world.clients {
            for (k, work) in client.works.iter().enumerate() {
                if rounds.len() <= k {
                    rounds.push(Vec::new());
                }
                rounds[k].push(*work);
            }
        }
        prop_assert!(rounds.len() > 3);
        for pair in rounds.windows(2) {
            let all_arrived = pair[0].iter().map(|(_, end)| *end).max().unwrap_or(0);
            prop_assert!(pair[1].iter().all(|(start, _)| *start >= all_arrived), "{rounds:?}");
        }
    }

    /// A dynamic bound matches the paper's controller: the same number of updates for every client, on the same
    /// clocks.
    #[test]
    fn a_dynamic_bound_is_the_papers_controller(
        seconds in prop::collection::vec(1u64..20, 2..8), bound_min in 0u64..4, more in 0u64..8,
    ) {
        let policy = dynamic(bound_min, bound_min + more, seconds.len() as u64);
        let model = Model::run(&seconds, bound_min, bound_min + more, SECONDS);
        prop_assert_eq!(updates(SchedulingChoice::DynamicStaleSynchronous(policy), &seconds, SECONDS), model);
    }

    /// An infinite bound is asynchronous: every decision is the same.
    #[test]
    fn a_bound_without_end_is_asynchronous(natures in natures(), concurrency in 1u64..8, seed: u64) {
        let bounded = SchedulingChoice::StaleSynchronous(stale_synchronous(u64::MAX, AtBound::Delay, concurrency));
        let free = SchedulingChoice::Asynchronous(Asynchronous {
            concurrency,
            staleness: Staleness::ignored(),
            reporting_deadline_seconds: DEADLINE_SECONDS,
        });
        let [bounded, free] = [bounded, free].map(|policy| {
            let mut world = World::new(policy, natures.clone(), seed);
            world.run(SECONDS);
            world.trace
        });
        prop_assert_eq!(bounded, free);
    }
}

/// Returns the number of updates that each client sends. `seconds` is the exact duration of each client's work.
fn updates(policy: SchedulingChoice, seconds: &[u64], run_seconds: u64) -> Vec<u64> {
    let honest = |seconds: &u64| Nature { seconds: *seconds, vanishes_in: 0, stays_away_seconds: 0 };
    let mut world = World::with_jitter(policy, seconds.iter().map(honest).collect(), 1, 0);
    world.run(run_seconds);
    world.clients.iter().map(|client| client.pushes).collect()
}

/// One client is six times slower than nine others, for half an hour. A dynamic bound of 3 to 10 is as good as a fixed
/// bound of 10.
#[test]
fn a_dynamic_bound_uses_its_range() {
    let seconds = [60, 10, 10, 10, 10, 10, 10, 10, 10, 10];
    let count = seconds.len() as u64;
    let trainings = |policy| updates(policy, &seconds, 1_800).iter().sum::<u64>();
    let bounded = |bound| {
        let policy =
            StaleSynchronous { absence_seconds: 300, ..stale_synchronous(bound, AtBound::Delay, count) };
        trainings(SchedulingChoice::StaleSynchronous(policy))
    };
    let policy = DynamicStaleSynchronous { reporting_deadline_seconds: 600, ..dynamic(3, 10, count) };
    let dynamic = trainings(SchedulingChoice::DynamicStaleSynchronous(policy));
    assert_eq!([bounded(3), dynamic, bounded(10)], [327, 390, 390]);
    assert_eq!(Model::run(&seconds, 3, 10, 1_800).iter().sum::<u64>(), 390);
}
