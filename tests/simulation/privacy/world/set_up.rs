//! Creates a world and starts its coordinator.

use std::sync::Arc;

use bytes::Bytes;
use folkmoot_coordinator::privacy::{PopulationBudget, PopulationPrivacy};
use folkmoot_engine::onnx::build::mlp;
use folkmoot_objects::BlobStore;
use folkmoot_privacy::{Delta, Epsilon, Unit};
use folkmoot_protocol::{ClientId, OrganisationId, Timestamp, UserKey};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{coordinator::Coordinator, noise::Sabotage, registry};
use folkmoot_storage::{
    ClientRecord, ClientRepository, EnrolOutcome, PopulationRepository, PrivacyChange, PrivacyOutcome,
    Storage, TokenRecord, TokenRepository,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{BEGINNING, World, clients::Client, refused};
use crate::{
    chance::Chance,
    faulty_store::FaultyStore,
    invariants::{Broken, broken},
    privacy::{
        coverage::Coverage,
        record::Record,
        script::{Nature, Script},
    },
    trace::Trace,
};

/// The layer widths of the model. It has 205 parameters, so that five versions are enough to measure the noise.
const LAYERS: [usize; 2] = [40, 5];

impl World {
    pub(super) async fn set_up(
        seed: u64,
        sabotage: Option<Sabotage>,
        storage: Storage,
        trace: Trace,
    ) -> Result<Self, Broken> {
        let script = Script::of(seed);
        let (store, log) = (Arc::new(FaultyStore::default()), RoundLog::in_memory());
        let coordinator = process(&storage, &store, &log, seed, 0, sabotage);
        let mut chance = Chance::of(seed, 21);
        let id = OrganisationId::from_random_bytes(chance.id());
        let organisation =
            storage.ensure_organisation(&format!("seed {seed}"), id, Timestamp(BEGINNING)).await?;
        let onnx = Bytes::from(mlp(&LAYERS, seed));
        let bytes_max = onnx.len();
        let model =
            registry::create_model(&coordinator, organisation, onnx, bytes_max, Timestamp(BEGINNING)).await;
        let mut planned = script.tasks.clone();
        planned.reverse();
        let mut world = Self {
            seed,
            now: 0,
            chance,
            trace,
            population: "people".parse().expect("it is a name"),
            organisation,
            model: model.map_err(refused)?.model,
            storage,
            store,
            log,
            coordinator,
            sabotage,
            fault: None,
            starts: 0,
            enrolments: 0,
            units: 0,
            clients: Vec::new(),
            tasks: Vec::new(),
            planned,
            plans: [].into(),
            record: Record::default(),
            coverage: Coverage::default(),
            script,
            is_budget_as_scripted: true,
        };
        let now = world.now();
        world.storage.ensure_population(organisation, &world.population, now).await?;
        let budget = world.script.budget;
        world.set_budget(budget, None).await?;
        for index in 0..world.script.clients.len() {
            let (nature, user) = world.script.clients[index];
            world.add_client(nature, user).await?;
        }
        Ok(world)
    }

    /// Sets the common budget of all tasks. Returns `false` if the coordinator refuses it.
    pub(super) async fn set_budget(
        &mut self,
        budget: Option<(f64, f64)>,
        weakened: Option<&str>,
    ) -> Result<bool, Broken> {
        let budget = budget.map(|(epsilon, delta)| PopulationBudget {
            epsilon: Epsilon::new(epsilon).expect("it is an epsilon"),
            delta: Delta::new(delta).expect("it is a delta"),
        });
        let unit = if self.script.protects_users { Unit::User } else { Unit::Client };
        let (privacy, now) = (PopulationPrivacy { unit, budget }, self.now());
        let change = PrivacyChange { privacy, weakened, may_weaken: true, by: "operator", now };
        let set = self.storage.set_population_privacy(self.organisation, &self.population, &change).await?;
        Ok(set == PrivacyOutcome::Set)
    }

    pub(super) async fn add_client(&mut self, nature: Nature, user: usize) -> Result<(), Broken> {
        let record = self.enrol(user).await?;
        // If the unit of privacy is the client, each enrolment creates a new unit.
        let unit = if self.script.protects_users { user } else { self.units };
        self.units += 1;
        let client = Client::new(record, unit, user, nature);
        self.record.lengths.insert(client.unit, client.nature.certain_length());
        self.clients.push(client);
        Ok(())
    }

    /// Enrols a device of a user with a new key.
    async fn enrol(&mut self, user: usize) -> Result<ClientRecord, Broken> {
        self.enrolments += 1;
        let (number, now) = (self.enrolments, self.now());
        let key = UserKey::of(self.organisation, &self.population, &format!("user {user}"));
        let token = TokenRecord {
            user_key: Some(key),
            ..TokenRecord::unlimited(
                format!("token {number} of {}", self.organisation),
                self.organisation,
                self.population.clone(),
                now,
            )
        };
        self.storage.create_token(&token).await?;
        let id = ClientId::from_random_bytes(self.chance.id());
        match self.storage.enrol(&token.id, &format!("key {number}"), id, now).await? {
            EnrolOutcome::Enrolled(record) => Ok(record),
            other => Err(broken("a_new_key_is_enrolled", format!("{other:?}"))),
        }
    }

    /// Stops the coordinator's process, and starts a new one with the same storage.
    pub(super) async fn restart(&mut self) -> Result<(), Broken> {
        self.coverage.count("restarts of the coordinator");
        self.note(format_args!("the coordinator starts again"));
        self.starts += 1;
        self.coordinator =
            process(&self.storage, &self.store, &self.log, self.seed, self.starts, self.sabotage);
        let forgotten = self.coordinator.forget_unneeded_logs().await;
        forgotten.map_err(|error| broken("a_restarted_coordinator_starts", error.to_string()))
    }
}

fn process(
    storage: &Storage,
    store: &Arc<FaultyStore>,
    log: &RoundLog,
    seed: u64,
    starts: u64,
    sabotage: Option<Sabotage>,
) -> Arc<Coordinator> {
    let chance = ChaCha20Rng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(starts));
    let blobs = BlobStore::new(store.clone());
    Arc::new(Coordinator::new(storage.clone(), blobs, log.clone(), chance).sabotaged(sabotage))
}
