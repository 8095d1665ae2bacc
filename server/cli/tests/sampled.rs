//! Tests of tasks that claim Poisson sampling, in a virtual world with the real drivers. Clients take part exactly as
//! often as the ledger charges, regardless of the size of a sample and the speed of its clients.

use bytes::Bytes;
use folkmoot_coordinator::task::{TaskDescription, TaskFilter};
use folkmoot_engine::onnx::build::mlp;
use folkmoot_privacy::ledger::{Charge, Participation};
use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_round_log::RoundLog;
use folkmoot_simulation::{
    chance::Stream,
    record::RoundOutcome,
    simulate::{Canaries, DataSource, Outcome, Silent, Simulation, WorldSettings, simulate_on},
};
use folkmoot_storage::{
    LedgerRepository, MemoryStorage, ParticipationRepository, PopulationRepository, TaskRepository,
};
use serde_json::json;

const CLIENTS: usize = 20;
const VERSIONS: u64 = 300;
const RATE: f64 = 0.1;

/// A sample has two clients on average. A round without the claim would be abandoned with fewer than two clients, and
/// would end as soon as it has two updates.
fn described() -> TaskDescription {
    let description = json!({
        "name": "sampled",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 1,
        },
        "selection": { "kind": "poisson", "sampling_rate": RATE },
        "scheduling": {
            "kind": "synchronous", "report_goal": 2, "minimum_cohort": 2,
            "selection_deadline_seconds": 10, "reporting_deadline_seconds": 60,
        },
        "aggregator": { "kind": "uniform_mean" },
        "privacy": {
            "kind": "central", "epsilon": 1000.0, "delta": 1e-5, "amplification": "poisson",
            "noise_multiplier": 1.0, "clipping": { "kind": "fixed", "norm": 1.0 },
        },
        "stop": { "rounds": VERSIONS },
    });
    serde_json::from_value(description).expect("it is a description")
}

async fn run(seed: u64) -> (Outcome, MemoryStorage) {
    // No client trains: every client sends the update of a canary.
    let canaries = Canaries::draw(CLIENTS, 0, &mut Stream::new(seed, &[1]));
    let settings = WorldSettings {
        clients: CLIENTS,
        seed,
        held_out_share: 0.0,
        arrival_seconds: 1.0,
        ..WorldSettings::default()
    };
    let simulation = Simulation {
        functions: None,
        description: described(),
        onnx: Bytes::from(mlp(&[4, 8], 1)),
        settings,
        source: DataSource::Canaries(canaries),
        trace: None,
        threads: 1,
        kept: None,
        evaluate_every: 1,
        sabotage: None,
    };
    let storage = MemoryStorage::new();
    let outcome =
        Box::pin(simulate_on(simulation, storage.clone(), RoundLog::in_memory(), &mut Silent)).await;
    (outcome.expect("the simulation runs"), storage)
}

/// Returns the deviation of a count of `tosses` coins with probability [`RATE`] from its mean, in standard
/// deviations.
fn deviations(count: u64, tosses: u64) -> f64 {
    let mean = tosses as f64 * RATE;
    (count as f64 - mean) / (mean * (1.0 - RATE)).sqrt()
}

/// A correct count deviates by more than five standard deviations with a probability of 6e-7. For all 22 checks, that
/// is once in 80,000 seeds.
#[tokio::test]
async fn a_client_is_in_a_version_as_often_as_is_charged() {
    const DEVIATIONS: f64 = 5.0;
    let (outcome, storage) = run(1).await;
    assert_eq!((outcome.version, outcome.state.name()), (VERSIONS, "completed"));
    let anyone = OrganisationId::from_random_bytes([0; 16]);
    let organisation = storage.ensure_organisation("simulated", anyone, Timestamp(0)).await.unwrap();
    let tasks = storage.tasks(organisation, &TaskFilter::default(), 10, None).await.unwrap();

    // The charges: every version, at the sampling rate.
    let population = tasks[0].description.population.clone();
    let entries = storage.ledger_entries(organisation, &population, 0, 1000).await.unwrap();
    let charges: Vec<Charge> = entries.iter().filter_map(|entry| Some(entry.event.charged()?.1)).collect();
    assert_eq!(charges.len() as u64, VERSIONS);
    for charge in &charges {
        let Participation::Poisson { rate } = charge.participation else { panic!("{charge:?}") };
        assert_eq!(rate.get(), RATE);
    }

    // The actual participations.
    let histories = storage.participations(tasks[0].id).await.unwrap();
    let mut all = 0;
    for (client, history) in &histories {
        let off = deviations(history.accepted, VERSIONS);
        assert!(off.abs() < DEVIATIONS, "{client} is in {} of {VERSIONS}: {off:.1}", history.accepted);
        all += history.accepted;
    }
    let off = deviations(all, VERSIONS * CLIENTS as u64);
    assert!(
        off.abs() < DEVIATIONS,
        "{all} participations in {VERSIONS} versions of {CLIENTS} clients: {off:.1}"
    );
    // Empty samples commit versions as often as expected.
    let empty = outcome.rounds.iter().filter(|row| row.drawn == 0).count() as f64;
    let chance = (1.0 - RATE).powi(CLIENTS as i32);
    let off = (empty - VERSIONS as f64 * chance) / (VERSIONS as f64 * chance * (1.0 - chance)).sqrt();
    assert!(off.abs() < DEVIATIONS, "{empty} of {VERSIONS} versions are of nobody: {off:.1}");
    // No sample was discarded, and every selected client was waited for.
    for row in &outcome.rounds {
        assert_eq!((row.outcome, row.reported), (RoundOutcome::Committed, row.drawn), "{row:?}");
    }
}
