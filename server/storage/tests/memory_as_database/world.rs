//! One history: random calls to both storages.

use folkmoot_coordinator::{
    privacy::PopulationPrivacy,
    task::{Candidate, StopReason, TaskState},
};
use folkmoot_privacy::Unit;
use folkmoot_protocol::{
    AssignmentId, OrganisationId, PopulationName, Role, Timestamp, limits::COUNT_MAX, messages::ReportRequest,
};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, AssignmentRepository, CheckInRecord, CheckInRepository, ClientRepository,
    DropReason, LeaseRepository, LedgerRepository, MemoryStorage, ModelRecord, ModelRepository,
    ModelVersionRepository, PopulationRepository, PrivacyChange, SqlOptions, SqlStorage, TaskRepository,
    TokenAfter, TokenRecord, TokenRepository,
};

use super::{
    chance::Chance,
    same::same,
    settings::{
        CLIENTS, ORGANISATIONS, TASKS, client, digest, name, organisation, population, task, task_record,
        user, version,
    },
};

/// The two storages, and the ids used so far.
pub struct World {
    pub database: SqlStorage,
    pub memory: MemoryStorage,
    pub chance: Chance,
    pub now: Timestamp,
    /// The id of every assignment that a call tried to create.
    pub assignments: Vec<AssignmentId>,
    pub reached: Reached,
}

/// The number of successful calls of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    pub assigned: usize,
    pub accepted: usize,
    pub closed: usize,
    pub committed: usize,
    pub waiting: usize,
}

impl Reached {
    pub fn add(&mut self, other: &Reached) {
        self.assigned += other.assigned;
        self.accepted += other.accepted;
        self.closed += other.closed;
        self.committed += other.committed;
        self.waiting += other.waiting;
    }
}

impl World {
    pub async fn new(chance: Chance) -> Self {
        let options = SqlOptions::default();
        let database = SqlStorage::connect("sqlite::memory:", options).await.expect("it can be made");
        let memory = MemoryStorage::new();
        let (now, assignments, reached) = (Timestamp(100), Vec::new(), Reached::default());
        Self { database, memory, chance, now, assignments, reached }
    }

    /// Makes one random call.
    pub async fn call(&mut self) -> Result<(), String> {
        self.now.0 += self.chance.below(3);
        match self.chance.below(40) {
            0 => self.organisation().await,
            1 => self.credentials().await,
            2 => self.enrol().await,
            3..15 => self.check_in().await,
            15 => self.leave().await,
            16..19 => self.task().await,
            19..28 => self.advance().await,
            28..38 => self.answer().await,
            38 => self.evaluate().await,
            _ => self.lease().await,
        }
    }

    async fn organisation(&mut self) -> Result<(), String> {
        let (number, population_number) = (self.chance.below(ORGANISATIONS), self.chance.below(2));
        let id = organisation(number);
        // The third organisation does not exist. Occasionally, a name comes with another organisation's id.
        let id_if_new = if self.chance.happens(10) { organisation(self.chance.below(2)) } else { id };
        if number < 2 {
            let _ = same!(self, ensure_organisation(&name(number), id_if_new, self.now));
        }
        let _ = same!(self, ensure_population(id, &population(population_number), self.now));
        if self.chance.happens(20) {
            let unit = self.chance.one_of(&[Unit::Client, Unit::User]);
            let privacy = PopulationPrivacy { unit, budget: None };
            let name = population(population_number);
            let _ = same!(self, set_population_privacy(id, &name, &self.change(privacy)));
            let _ = same!(self, ledger_entries(id, &name, 0, 1000));
            let _ = same!(self, population(id, &name));
        }
        let model = ModelRecord {
            name: None,
            organisation_id: id,
            model: digest(self.chance.below(3)),
            model_bytes: 4,
            weights: digest(self.chance.below(3)),
            schema: task_record(task(0), id, self.now).schema,
            created_at: self.now,
        };
        let _ = same!(self, create_model(&model));
        Ok(())
    }

    async fn credentials(&mut self) -> Result<(), String> {
        let id = name(self.chance.below(4));
        let organisation_id = organisation(self.chance.below(ORGANISATIONS));
        // A count that does not fit into SQL is rejected.
        let uses_max = self.chance.one_of(&[None, Some(1), Some(3), Some(u64::MAX)]);
        let population = population(self.chance.below(3));
        let token = TokenRecord {
            id: id.clone(),
            user_key: self.chance.one_of(&[None, Some(user(0)), Some(user(1))]),
            uses_max,
            expires_at: self.chance.happens(30).then_some(Timestamp(self.now.0 + 50)),
            created_at: Timestamp(self.chance.below(3)),
            ..self.token(organisation_id, population)
        };
        let _ = same!(self, create_token(&token));
        let key = ApiKeyRecord {
            id: id.clone(),
            organisation_id,
            name: "key".into(),
            role: self.chance.one_of(&[Role::Operator, Role::Admin]),
            secret_hash: [9; 32],
            created_at: Timestamp(self.chance.below(3)),
            expires_at: self.chance.one_of(&[None, Some(Timestamp(9))]),
            revoked_at: None,
            rotation: None,
            used_at: None,
        };
        let _ = same!(self, create_api_key(&key));
        if self.chance.happens(10) {
            let _ = same!(self, revoke_token(organisation_id, &id, self.now));
            let other = name(self.chance.below(4));
            let _ = same!(self, revoke_token_and_clients(organisation_id, &other, self.now));
            let _ = same!(self, revoke_api_key(organisation_id, &id, self.now));
        }
        if self.chance.happens(10) {
            let until = Timestamp(self.now.0 + self.chance.below(9));
            let _ = same!(self, rotate_api_key(organisation_id, &id, [8; 32], until, self.now));
            let uses = [(name(self.chance.below(4)), Timestamp(self.chance.below(self.now.0 + 1)))];
            let _ = same!(self, record_key_uses(&uses));
        }
        Ok(())
    }

    /// Enrols clients for the following calls.
    pub async fn begin(&mut self) -> Result<(), String> {
        for number in 0..2 {
            let id = organisation(number);
            let _ = same!(self, ensure_organisation(&name(number), id, self.now));
            let _ = same!(self, ensure_population(id, &population(1), self.now));
            // The second organisation's clients are devices of users. At first, all of them belong to one user.
            let unit = if number == 1 { Unit::User } else { Unit::Client };
            let _ = same!(
                self,
                set_population_privacy(
                    id,
                    &population(1),
                    &self.change(PopulationPrivacy { unit, budget: None })
                )
            );
            let user_key = (number == 1).then(|| user(0));
            let token = TokenRecord { id: name(4 + number), user_key, ..self.token(id, population(1)) };
            let _ = same!(self, create_token(&token));
        }
        for number in 0..CLIENTS {
            let _ = same!(self, enrol(&name(4 + number % 2), &name(number), client(number), self.now));
        }
        Ok(())
    }

    fn token(&self, organisation_id: OrganisationId, population: PopulationName) -> TokenRecord {
        TokenRecord {
            secret_hash: [7; 32],
            ..TokenRecord::unlimited(String::new(), organisation_id, population, self.now)
        }
    }

    fn change(&self, privacy: PopulationPrivacy) -> PrivacyChange<'static> {
        PrivacyChange { privacy, weakened: None, may_weaken: true, by: "key", now: self.now }
    }

    async fn enrol(&mut self) -> Result<(), String> {
        let (token, key) = (name(self.chance.below(7)), name(self.chance.below(CLIENTS + 2)));
        let id = client(self.chance.below(CLIENTS + 2));
        let user_key = self.chance.one_of(&[None, None, Some(user(0)), Some(user(1))]);
        let _ = same!(self, enrol_user(&token, user_key, &key, id, self.now));
        Ok(())
    }

    async fn check_in(&mut self) -> Result<(), String> {
        let client_id = client(self.chance.below(CLIENTS));
        let stored = same!(self, client(client_id)).map_err(|error| error.to_string())?;
        let mut organisation_id = organisation(self.chance.below(2));
        if let Some(record) = stored.filter(|_| self.chance.happens(90)) {
            organisation_id = record.organisation_id;
        }
        let check_in = CheckInRecord {
            organisation_id,
            population: population(u64::from(self.chance.happens(90))),
            candidate: Candidate {
                client_id,
                example_count: self.chance.below(99),
                attributes: [("os".into(), name(self.chance.below(2)))].into(),
                sdk_version: "1.2.3".into(),
            },
            at: self.now,
            expires_at: Timestamp(self.now.0 + self.chance.below(90)),
        };
        let _ = same!(self, check_in(&check_in));
        Ok(())
    }

    async fn leave(&mut self) -> Result<(), String> {
        let client_id = client(self.chance.below(CLIENTS));
        match self.chance.below(12) {
            0 => {
                let organisation_id = organisation(self.chance.below(4) / 3);
                let token = self.chance.one_of(&[TokenAfter::Closed, TokenAfter::Open]);
                let _ = same!(self, revoke_client(organisation_id, client_id, token, self.now));
            }
            1..4 => {
                let _ = same!(self, withdraw_check_in(client_id));
            }
            4..6 => {
                let expires_at = Timestamp(self.now.0 + self.chance.below(90));
                let _ = same!(self, withdraw_offer(client_id, expires_at));
            }
            _ => {
                let _ = same!(self, delete_expired_check_ins(self.now));
            }
        }
        Ok(())
    }

    async fn task(&mut self) -> Result<(), String> {
        let id = task(self.chance.below(TASKS));
        let owner = if self.chance.happens(90) { self.chance.below(2) } else { 2 };
        let record = task_record(id, organisation(owner), self.now);
        let _ = same!(self, create_task(&record, &version(id, 0, None, self.now)));
        let stored = same!(self, task_of_any_organisation(id)).map_err(|error| error.to_string())?;
        let revision = stored.map_or(0, |task| task.revision) + u64::from(self.chance.happens(20));
        let completed = TaskState::Completed { reason: StopReason::Rounds };
        let state = self.chance.one_of(&[TaskState::ACTIVE, TaskState::ACTIVE, TaskState::PAUSED, completed]);
        let _ = same!(self, set_task_state(id, state, revision));
        if self.chance.happens(10) {
            let number = self.chance.below(6);
            let organisation_id = record.organisation_id;
            let released = version(id, number, None, self.now);
            let _ = same!(self, release_version(organisation_id, &released));
        }
        Ok(())
    }

    async fn lease(&mut self) -> Result<(), String> {
        let (lease, holder) = (name(self.chance.below(2)), name(self.chance.below(3)));
        let until = Timestamp(self.now.0 + self.chance.below(20));
        let _ = same!(self, acquire_lease(&lease, &holder, self.now, until));
        if self.chance.happens(20) {
            let _ = same!(self, release_lease(&lease, &holder));
        }
        Ok(())
    }

    async fn answer(&mut self) -> Result<(), String> {
        if self.assignments.is_empty() {
            return Ok(());
        }
        // The newest assignments are likely to be outstanding.
        let newest = self.assignments.len().saturating_sub(6);
        let id = match self.chance.happens(70) {
            true => self.chance.one_of(&self.assignments[newest..]),
            false => self.chance.one_of(&self.assignments),
        };
        match self.chance.below(8) {
            0..6 => self.accept(id).await,
            6 => {
                let reason = self.chance.one_of(&[DropReason::Expired, DropReason::LeftBehind]);
                let _ = same!(self, drop_assignment(id, &reason, self.now));
                Ok(())
            }
            _ => {
                let training_milliseconds = self.chance.below(9);
                let report =
                    ReportRequest { training_milliseconds, download_bytes: 2, upload_bytes: COUNT_MAX };
                let _ = same!(self, record_report(id, &report, self.now));
                Ok(())
            }
        }
    }
}
