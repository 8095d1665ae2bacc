//! Creates a world's organisation, clients and tasks directly in the storage.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bytes::Bytes;
use folkmoot_coordinator::task::TaskState;
use folkmoot_protocol::{
    BlobDigest, ClientId, OrganisationId, Plan, TaskId, Timestamp, Work, signing::encode_public_key,
    update::UpdateMetrics,
};
use folkmoot_storage::{
    ClientRecord, ClientRepository, EnrolOutcome, ModelVersionRecord, PopulationRepository, SqlStorage,
    StorageError, TaskRecord, TaskRepository, TokenRecord, TokenRepository, VersionMaking,
};

use super::{BEGINNING, Event, Ledger, Queue, SimClient, SimServer, SimTask, World, exchange::signing_key};
use crate::{
    chance::Chance,
    coverage::Coverage,
    faulty_store::FaultyStore,
    invariants::{Broken, broken},
    scenario::{Scenario, TaskScenario, population},
    trace::Trace,
};

impl World {
    pub(super) async fn set_up(
        seed: u64,
        scenario: Scenario,
        storage: SqlStorage,
        folder: PathBuf,
        trace: Trace,
    ) -> Result<Self, Broken> {
        let mut chance = Chance::of(seed, 2);
        let id_if_new = OrganisationId::from_random_bytes(chance.id());
        let name = format!("seed {seed}");
        let organisation = storage.ensure_organisation(&name, id_if_new, Timestamp(BEGINNING)).await?;
        storage.ensure_population(organisation, &population(), Timestamp(BEGINNING)).await?;
        let records = enrol(&storage, organisation, &mut chance, scenario.clients.len()).await?;
        let clients = records.into_iter().zip(&scenario.clients).enumerate();
        let clients =
            clients.map(|(index, (record, nature))| SimClient::new(seed, index, record, *nature)).collect();
        let mut world = Self {
            seed,
            now: BEGINNING,
            queue: Queue::default(),
            trace,
            coverage: Coverage::default(),
            faults: scenario.faults,
            fault_events: scenario.fault_events,
            sabotage: scenario.sabotage,
            is_calm: false,
            organisation,
            storage,
            server: SimServer::new(Arc::new(FaultyStore::default()), folder),
            clients,
            tasks: Vec::new(),
            ledger: Ledger::default(),
            chance,
        };
        world.start_coordinator().await?;
        for task in &scenario.tasks {
            world.create_task(task).await?;
        }
        for client in 0..world.clients.len() {
            let delay = world.chance.within(0..=3_000);
            world.after(delay, Event::ClientStarts { client });
        }
        world.after(10, Event::DriversTick);
        world.after(500, Event::EnvironmentActs);
        Ok(world)
    }

    async fn create_task(&mut self, scenario: &TaskScenario) -> Result<(), Broken> {
        let coordinator = self.server.coordinator.clone().expect("it was just started");
        let put = async |bytes: Vec<u8>| -> Result<(BlobDigest, u64), Broken> {
            let length = bytes.len() as u64;
            let digest = coordinator.blobs.put(Bytes::from(bytes)).await;
            Ok((digest.map_err(|error| broken("the_storage_does_not_fail", error.to_string()))?, length))
        };
        let (description, schema) = (scenario.description.clone(), scenario.schema.clone());
        let (model, model_bytes) = put(self.chance.id().to_vec()).await?;
        let plan = Plan {
            model,
            schema: schema.clone(),
            work: Work::Training,
            device_rules: Vec::new(),
            training: description.plan.clone(),
            codec: folkmoot_protocol::Codec::None,
            protection: description.plan_protection(),
            grid: description.grid,
            local_noise: None,
            drift_correction: None,
            fine_tuning: None,
            table_schema: None,
            image_schema: None,
        };
        let shown = plan.clone();
        let (plan, plan_bytes) = put(serde_json::to_vec(&plan).expect("a plan is JSON")).await?;
        let first = |index: u64| (index as f32 * 0.37).sin();
        let first_weights =
            (0..schema.parameter_count()).flat_map(|index| first(index).to_le_bytes()).collect();
        let (weights, weights_bytes) = put(first_weights).await?;
        let id = TaskId::from_random_bytes(self.chance.id());
        let created_at = Timestamp(BEGINNING);
        let record = TaskRecord {
            id,
            organisation_id: self.organisation,
            description: description.clone(),
            state: TaskState::ACTIVE,
            model,
            model_bytes,
            schema: schema.clone(),
            plan,
            plan_bytes,
            evaluation_plan: None,
            evaluation_data: None,
            served: 0,
            created_at,
            revision: 0,
        };
        let metrics = UpdateMetrics::default();
        let version = ModelVersionRecord {
            task_id: id,
            number: 0,
            round_id: None,
            weights,
            weights_bytes,
            metrics,
            making: VersionMaking::default(),
            created_at,
            dropped_at: None,
        };
        self.storage.create_task(&record, &version).await?;
        self.tasks.push(SimTask {
            id,
            description,
            schema,
            plan: shown,
            state: TaskState::ACTIVE,
            rounds: BTreeMap::new(),
        });
        Ok(())
    }
}

async fn enrol(
    storage: &SqlStorage,
    organisation_id: OrganisationId,
    chance: &mut Chance,
    count: usize,
) -> Result<Vec<ClientRecord>, StorageError> {
    let token = TokenRecord::unlimited(
        organisation_id.to_string(),
        organisation_id,
        population(),
        Timestamp(BEGINNING),
    );
    storage.create_token(&token).await?;
    let mut records = Vec::new();
    for index in 0..count {
        let id = ClientId::from_random_bytes(chance.id());
        let key = encode_public_key(&signing_key(index));
        match storage.enrol(&token.id, &key, id, Timestamp(BEGINNING)).await? {
            EnrolOutcome::Enrolled(record) => records.push(record),
            other => panic!("a new key on a fresh token is enrolled, and not {other:?}"),
        }
    }
    Ok(records)
}
