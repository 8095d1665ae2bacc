//! The usage and the quotas of organisations, and their turns to write.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_coordinator::tenancy::{Bucket, Day, Quotas, Usage};
use folkmoot_protocol::{ErrorCode, OrganisationId, Timestamp};
use folkmoot_storage::{Storage, StorageError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::Refusal;

/// The smallest burst of requests that a rate allows.
const BURST_MIN: f64 = 20.0;
/// The smallest number of an organisation's writes at the same time.
const TURNS_MIN: usize = 2;
/// The seconds of a rate that an organisation may use at once.
const BURST_SECONDS: f64 = 2.0;

/// Counts what the clients of each organisation use, keeps them within its quotas, and lets organisations write in turn.
///
/// The counts are in memory. [`Tenants::settle`] stores them from time to time, and reads the counts of other
/// processes. So a process that is killed loses the last counts, and a quota of bytes takes effect at the next
/// settlement.
pub struct Tenants {
    turns: usize,
    of: Mutex<HashMap<OrganisationId, Tenant>>,
}

struct Tenant {
    /// The name, once somebody has asked for it.
    name: Option<Arc<str>>,
    /// Permits for writes.
    turns: Arc<Semaphore>,
    quotas: Quotas,
    bucket: Bucket,
    /// The usage on each day since the last settlement.
    used: BTreeMap<Day, Usage>,
    /// The day of the last settlement, and the usage that all processes had stored for that day.
    stored: Option<(Day, Usage)>,
}

impl Tenants {
    /// Creates an empty set for a storage with `writers` connections for writing. Each organisation may use half of
    /// them at a time, but at least two, so that the next write is ready when one ends.
    pub fn new(writers: usize) -> Self {
        Self { turns: (writers / 2).max(TURNS_MIN), of: Mutex::default() }
    }

    /// Returns the name of an organisation. It never changes, so the storage is asked once.
    ///
    /// # Errors
    /// Fails if the storage fails or has no such organisation.
    pub async fn name(
        &self,
        storage: &Storage,
        organisation_id: OrganisationId,
    ) -> Result<Arc<str>, StorageError> {
        if let Some(name) = self.with(organisation_id, |tenant| tenant.name.clone()) {
            return Ok(name);
        }
        let name = storage.database()?.organisation_name(organisation_id).await?;
        let name: Arc<str> = name.ok_or(StorageError::NotFound("organisation"))?.into();
        self.with(organisation_id, |tenant| tenant.name = Some(name.clone()));
        Ok(name)
    }

    /// Waits until a client of the organisation may write to the storage. Drop the permit after the write.
    ///
    /// Writes wait in one queue, first come, first served. If hundreds of clients of one organisation wrote at the same
    /// time, every other organisation would have to wait for all of them. With turns, it waits for few.
    pub async fn turn(&self, organisation_id: OrganisationId) -> OwnedSemaphorePermit {
        let turns = self.with(organisation_id, |tenant| tenant.turns.clone());
        turns.acquire_owned().await.expect("it is never closed")
    }

    /// Counts a request of an organisation's client.
    ///
    /// # Errors
    /// [`ErrorCode::RateLimited`] if the organisation's clients send more requests than its quota permits.
    pub fn admit(&self, organisation_id: OrganisationId, now: Timestamp) -> Result<(), Refusal> {
        self.with(organisation_id, |tenant| {
            tenant.check_rate(|bucket, burst, rate| bucket.take(burst, rate, now))?;
            tenant.count(Usage { requests: 1, ..Usage::default() }, now);
            Ok(())
        })
    }

    /// Checks whether the next request of an organisation's client would be admitted, without counting it. This refuses
    /// a flood before it costs a signature check and a query.
    ///
    /// # Errors
    /// The same as [`Tenants::admit`].
    pub fn check_rate(&self, organisation_id: OrganisationId, now: Timestamp) -> Result<(), Refusal> {
        self.with(organisation_id, |tenant| {
            tenant.check_rate(|bucket, burst, rate| bucket.has_one(burst, rate, now))
        })
    }

    /// Counts the bytes of a body that a client sent.
    pub fn received(&self, organisation_id: OrganisationId, bytes: u64, now: Timestamp) {
        self.count(organisation_id, Usage { received_bytes: bytes, ..Usage::default() }, now);
    }

    /// Counts the bytes of a blob that a client fetched.
    pub fn sent(&self, organisation_id: OrganisationId, bytes: u64, now: Timestamp) {
        self.count(organisation_id, Usage { sent_bytes: bytes, ..Usage::default() }, now);
    }

    /// Counts an accepted update.
    pub fn updated(&self, organisation_id: OrganisationId, now: Timestamp) {
        self.count(organisation_id, Usage { updates: 1, ..Usage::default() }, now);
    }

    /// Returns the time until the organisation's clients may take part again, in milliseconds; `None` if they may now.
    /// They may not for the rest of a day (UTC) whose quota of bytes is used up.
    pub fn wait_milliseconds(&self, organisation_id: OrganisationId, now: Timestamp) -> Option<u64> {
        let tenants = self.lock();
        let tenant = tenants.get(&organisation_id)?;
        let bytes_max = tenant.quotas.bytes_per_day_max?;
        (tenant.of_day(now.into()).bytes() >= bytes_max).then(|| Day::from(now).milliseconds_left(now))
    }

    /// Stores the counts, and reads quotas and the counts of other processes. Does nothing if the storage is in memory.
    ///
    /// # Errors
    /// Fails if the storage fails. The counts are then kept for the next settlement, which may count them twice if the
    /// database stored them and its answer was lost.
    pub async fn settle(&self, storage: &Storage, now: Timestamp) -> Result<(), StorageError> {
        let Ok(database) = storage.database() else { return Ok(()) };
        let taken: Vec<(OrganisationId, Day, Usage)> = self
            .lock()
            .iter_mut()
            .flat_map(|(&id, tenant)| {
                std::mem::take(&mut tenant.used).into_iter().map(move |(day, used)| (id, day, used))
            })
            .collect();
        if !taken.is_empty()
            && let Err(error) = database.add_usage(&taken).await
        {
            let mut tenants = self.lock();
            for (id, day, used) in taken {
                self.tenant(&mut tenants, id).count_on(day, used);
            }
            return Err(error);
        }
        let day = Day::from(now);
        let found = database.tenancies(day).await?;
        let mut tenants = self.lock();
        for record in found {
            let tenant = self.tenant(&mut tenants, record.organisation_id);
            (tenant.quotas, tenant.stored) = (record.quotas, Some((day, record.used)));
        }
        Ok(())
    }

    fn count(&self, organisation_id: OrganisationId, used: Usage, now: Timestamp) {
        self.with(organisation_id, |tenant| tenant.count(used, now));
    }

    fn with<T>(&self, organisation_id: OrganisationId, act: impl FnOnce(&mut Tenant) -> T) -> T {
        act(self.tenant(&mut self.lock(), organisation_id))
    }

    fn tenant<'a>(
        &self,
        tenants: &'a mut HashMap<OrganisationId, Tenant>,
        organisation_id: OrganisationId,
    ) -> &'a mut Tenant {
        tenants.entry(organisation_id).or_insert_with(|| Tenant::new(self.turns))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrganisationId, Tenant>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenant {
    fn new(turns: usize) -> Self {
        Self {
            name: None,
            turns: Arc::new(Semaphore::new(turns)),
            quotas: Quotas::default(),
            bucket: Bucket::default(),
            used: BTreeMap::new(),
            stored: None,
        }
    }

    /// Refuses a request unless `has_one` finds a token in the bucket. It gets the bucket, its burst, and its rate per
    /// second.
    fn check_rate(&mut self, has_one: impl FnOnce(&mut Bucket, f64, f64) -> bool) -> Result<(), Refusal> {
        let Some(rate) = self.quotas.requests_per_second_max else { return Ok(()) };
        let burst = (f64::from(rate) * BURST_SECONDS).max(BURST_MIN);
        if has_one(&mut self.bucket, burst, rate.into()) {
            return Ok(());
        }
        let detail = format!(
            "the clients of this organisation send more than {rate} requests per second, its quota; try again later"
        );
        Err(Refusal::new(ErrorCode::RateLimited, detail).retry_after(1_000))
    }

    fn count(&mut self, used: Usage, now: Timestamp) {
        self.count_on(now.into(), used);
    }

    fn count_on(&mut self, day: Day, used: Usage) {
        *self.used.entry(day).or_default() += used;
    }

    /// Returns the known usage of a day.
    fn of_day(&self, day: Day) -> Usage {
        let mut sum = self.used.get(&day).copied().unwrap_or_default();
        if let Some((of, stored)) = self.stored
            && of == day
        {
            sum += stored;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_storage::{PopulationRepository, SqlStorage};
    use futures::FutureExt;

    use super::*;

    const NOON: Timestamp = Timestamp(86_400_000 * 20_000 + 43_200_000);

    async fn database() -> (SqlStorage, [OrganisationId; 2]) {
        let storage = SqlStorage::connect("sqlite::memory:", Default::default()).await.unwrap();
        let ids = [1, 2].map(|byte| OrganisationId::from_random_bytes([byte; 16]));
        for (name, id) in ["one", "other"].into_iter().zip(ids) {
            storage.ensure_organisation(name, id, NOON).await.unwrap();
        }
        (storage, ids)
    }

    #[tokio::test]
    async fn an_organisation_is_held_to_its_rate_and_another_is_not() {
        let (database, [one, other]) = database().await;
        let quotas = Quotas { requests_per_second_max: Some(50), ..Quotas::default() };
        database.set_quotas(one, &quotas).await.unwrap();
        let (storage, tenants) = (Storage::from(database.clone()), Tenants::new(1));
        tenants.settle(&storage, NOON).await.unwrap();
        let admitted = |id, now| (0..1000).filter(|_| tenants.admit(id, now).is_ok()).count();
        assert_eq!(admitted(one, NOON), 100, "two seconds of its rate");
        let refusal = tenants.admit(one, NOON).unwrap_err();
        assert_eq!(
            (refusal.code(), refusal.0.retry_after_milliseconds),
            (ErrorCode::RateLimited, Some(1_000))
        );
        assert_eq!(admitted(other, NOON), 1000);
        assert_eq!(admitted(one, NOON.plus_seconds(1)), 50);

        tenants.settle(&storage, NOON).await.unwrap();
        let day = Day::from(NOON);
        let counted = database.usage(None, day..=day).await.unwrap();
        let counted: Vec<_> =
            counted.iter().map(|record| (&*record.organisation, record.used.requests)).collect();
        assert_eq!(counted, [("one", 150), ("other", 1000)], "refused requests are not counted");
    }

    #[tokio::test]
    async fn whoever_is_over_its_rate_is_known_before_it_is_counted() {
        let (database, [one, other]) = database().await;
        let quotas = Quotas { requests_per_second_max: Some(1), ..Quotas::default() };
        database.set_quotas(one, &quotas).await.unwrap();
        let tenants = Tenants::new(1);
        tenants.settle(&database.into(), NOON).await.unwrap();
        for _ in 0..20 {
            assert!(tenants.check_rate(one, NOON).is_ok());
            tenants.admit(one, NOON).unwrap();
        }
        let refusal = tenants.check_rate(one, NOON).unwrap_err();
        assert_eq!(refusal.code(), ErrorCode::RateLimited);
        assert!(tenants.check_rate(other, NOON).is_ok());
        assert!(tenants.check_rate(one, NOON.plus_seconds(1)).is_ok());
    }

    #[test]
    fn an_organisation_that_writes_much_waits_for_itself_and_no_other_does() {
        let [one, other] = [1, 2].map(|byte| OrganisationId::from_random_bytes([byte; 16]));
        for (writers, turns) in [(1, 2), (4, 2), (8, 4)] {
            let tenants = Tenants::new(writers);
            let turn = |id| tenants.turn(id).now_or_never();
            let taken: Vec<_> = (0..100).map_while(|_| turn(one)).collect();
            assert_eq!(taken.len(), turns, "{writers}");
            assert!(turn(one).is_none() && turn(other).is_some());
            drop(taken);
            assert!(turn(one).is_some());
        }
    }

    #[tokio::test]
    async fn a_day_s_bytes_are_those_of_all_processes() {
        let (database, [one, other]) = database().await;
        let quotas = Quotas { bytes_per_day_max: Some(1_000), ..Quotas::default() };
        database.set_quotas(one, &quotas).await.unwrap();
        let storage = Storage::from(database.clone());
        let processes = [Tenants::new(1), Tenants::new(1)];
        for process in &processes {
            process.settle(&storage, NOON).await.unwrap();
        }
        let waits = || [0, 1].map(|index: usize| processes[index].wait_milliseconds(one, NOON));
        processes[0].received(one, 400, NOON);
        processes[1].sent(one, 600, NOON);
        assert_eq!(waits(), [None, None]);
        processes[0].settle(&storage, NOON).await.unwrap();
        assert_eq!(waits(), [None, None], "the second process has not settled");
        processes[1].settle(&storage, NOON).await.unwrap();
        assert_eq!(waits(), [None, Some(43_200_000)], "until midnight");
        processes[0].settle(&storage, NOON).await.unwrap();
        assert_eq!(waits(), [Some(43_200_000); 2]);
        assert_eq!(processes[0].wait_milliseconds(other, NOON), None);
        assert_eq!(processes[0].wait_milliseconds(one, NOON.plus_seconds(43_200)), None, "the next day");
        database.set_quotas(one, &Quotas::default()).await.unwrap();
        processes[0].settle(&storage, NOON).await.unwrap();
        assert_eq!(waits()[0], None);
    }

    #[tokio::test]
    async fn what_cannot_be_stored_is_kept() {
        let (database, [one, _]) = database().await;
        let (storage, tenants) = (Storage::from(database.clone()), Tenants::new(1));
        let unknown = OrganisationId::from_random_bytes([9; 16]);
        tenants.received(one, 7, NOON);
        tenants.updated(unknown, NOON);
        assert!(tenants.settle(&storage, NOON).await.is_err());
        let day = Day::from(NOON);
        assert_eq!(database.usage(Some(one), day..=day).await.unwrap(), []);
        tenants.lock().remove(&unknown);
        tenants.settle(&storage, NOON).await.unwrap();
        assert_eq!(database.usage(Some(one), day..=day).await.unwrap()[0].used.received_bytes, 7);
    }
}
