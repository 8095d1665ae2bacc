//! Stored knowledge about the machine's graphics adapters.

use std::collections::BTreeMap;

use folkmoot_protocol::{BlobDigest, Timestamp, TrainingPlan};
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;
/// The number of days for which an adapter is not used after a failure.
pub(crate) const LEFT_ALONE_DAYS: u64 = 7;
const DAY_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;
/// The maximum number of adapters whose records are kept.
const ADAPTERS_MAX: usize = 32;
/// The maximum number of plans whose records are kept.
const PLANS_MAX: usize = 128;
/// The maximum number of characters of a fault's text that are stored.
const DETAIL_CHARS_MAX: usize = 500;

/// Identifies an adapter. The same adapter with another driver is treated as a different adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AdapterId {
    pub name: String,
    pub driver: String,
}

/// The records of a machine's adapters: their faults, their tunings, and the faster device for each plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceMemory {
    version: u32,
    /// The records of adapters, by adapter name.
    adapters: BTreeMap<String, AdapterRecord>,
    /// The records of plans, by [`plan_digest`].
    plans: BTreeMap<String, PlanRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AdapterRecord {
    driver: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tuning: Option<String>,
    at: Timestamp,
}

/// A failure of an adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub at: Timestamp,
    pub detail: String,
}

/// The faster device for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Preference {
    Cpu,
    Gpu,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PlanRecord {
    /// The adapter that was compared with the CPU.
    adapter: AdapterId,
    faster: Preference,
    at: Timestamp,
}

impl Default for DeviceMemory {
    fn default() -> Self {
        Self { version: VERSION, adapters: BTreeMap::new(), plans: BTreeMap::new() }
    }
}

impl DeviceMemory {
    /// Returns whether this build can read the record's version.
    pub fn is_known_version(&self) -> bool {
        self.version == VERSION
    }

    /// Returns the recent fault because of which this adapter must not be used at `now`.
    pub fn fault(&self, id: &AdapterId, now: Timestamp) -> Option<&Fault> {
        let fault = self.record(id)?.fault.as_ref()?;
        // The absolute difference: a corrected clock must not exclude an adapter for years.
        let age = now.milliseconds_since(fault.at).max(fault.at.milliseconds_since(now));
        (age < LEFT_ALONE_DAYS * DAY_MILLISECONDS).then_some(fault)
    }

    /// Records that an adapter failed.
    pub fn remember_fault(&mut self, id: &AdapterId, detail: &str, now: Timestamp) {
        let detail = detail.chars().take(DETAIL_CHARS_MAX).collect();
        self.record_mut(id, now).fault = Some(Fault { at: now, detail });
    }

    /// Returns the fastest tiling of matrix products on this adapter, if it was measured.
    pub fn tuning(&self, id: &AdapterId) -> Option<&str> {
        self.record(id)?.tuning.as_deref()
    }

    /// Records the fastest tiling of matrix products on this adapter.
    pub fn remember_tuning(&mut self, id: &AdapterId, tuning: &str, now: Timestamp) {
        self.record_mut(id, now).tuning = Some(tuning.to_owned());
    }

    /// Returns which device is faster for this plan, if it was measured with this adapter.
    pub fn preference(&self, plan: &str, id: &AdapterId) -> Option<Preference> {
        let record = self.plans.get(plan).filter(|record| record.adapter == *id)?;
        Some(record.faster)
    }

    /// Records which device is faster for a plan.
    pub fn remember_preference(&mut self, plan: &str, id: &AdapterId, faster: Preference, now: Timestamp) {
        self.plans.insert(plan.to_owned(), PlanRecord { adapter: id.clone(), faster, at: now });
        forget_oldest(&mut self.plans, PLANS_MAX, |record| record.at);
    }

    fn record(&self, id: &AdapterId) -> Option<&AdapterRecord> {
        self.adapters.get(&id.name).filter(|record| record.driver == id.driver)
    }

    /// Returns the record of an adapter. If its driver has changed, the record is empty.
    fn record_mut(&mut self, id: &AdapterId, now: Timestamp) -> &mut AdapterRecord {
        let empty = || AdapterRecord { driver: id.driver.clone(), fault: None, tuning: None, at: now };
        if !self.adapters.contains_key(&id.name) {
            forget_oldest(&mut self.adapters, ADAPTERS_MAX - 1, |record| record.at);
        }
        let record = self.adapters.entry(id.name.clone()).or_insert_with(empty);
        if record.driver != id.driver {
            *record = empty();
        }
        record.at = now;
        record
    }
}

/// Returns the key of a plan's record: a digest of the model and the training plan.
pub(crate) fn plan_digest(model: BlobDigest, plan: &TrainingPlan) -> String {
    let mut bytes = model.to_string().into_bytes();
    bytes.extend(serde_json::to_vec(plan).expect("a plan is plain data"));
    BlobDigest::of(&bytes).to_string()
}

fn forget_oldest<T>(records: &mut BTreeMap<String, T>, kept: usize, at: impl Fn(&T) -> Timestamp) {
    while records.len() > kept {
        let oldest = records.iter().min_by_key(|(_, record)| at(record)).map(|(name, _)| name.clone());
        let Some(oldest) = oldest else { return };
        records.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn id(driver: &str) -> AdapterId {
        AdapterId { name: "Card 7".into(), driver: driver.into() }
    }

    #[test]
    fn a_faulty_adapter_is_left_alone_for_a_week() {
        let mut memory = DeviceMemory::default();
        assert_eq!(memory.fault(&id("1.0"), NOW), None);
        memory.remember_fault(&id("1.0"), "it was unplugged", NOW);
        let day = |days: u64| NOW.plus_seconds(days * 24 * 60 * 60);
        assert_eq!(memory.fault(&id("1.0"), day(6)).unwrap().detail, "it was unplugged");
        assert_eq!(memory.fault(&id("1.0"), day(7)), None);
        assert_eq!(memory.fault(&id("1.0"), Timestamp(0)), None, "the clock was wrong when it failed");
    }

    #[test]
    fn another_driver_begins_anew() {
        let mut memory = DeviceMemory::default();
        memory.remember_fault(&id("1.0"), "it was lost", NOW);
        memory.remember_tuning(&id("1.0"), "large", NOW);
        memory.remember_preference("plan", &id("1.0"), Preference::Gpu, NOW);
        assert_eq!(memory.tuning(&id("1.0")), Some("large"));
        assert_eq!(memory.preference("plan", &id("1.0")), Some(Preference::Gpu));
        assert_eq!(memory.fault(&id("1.1"), NOW), None);
        assert_eq!((memory.tuning(&id("1.1")), memory.preference("plan", &id("1.1"))), (None, None));
        memory.remember_tuning(&id("1.1"), "small", NOW);
        assert_eq!((memory.fault(&id("1.0"), NOW), memory.tuning(&id("1.1"))), (None, Some("small")));
    }

    #[test]
    fn only_the_newest_plans_are_kept() {
        let mut memory = DeviceMemory::default();
        for number in 0..=PLANS_MAX as u64 {
            let at = NOW.plus_seconds(number);
            memory.remember_preference(&format!("plan {number}"), &id("1.0"), Preference::Cpu, at);
        }
        assert_eq!(memory.plans.len(), PLANS_MAX);
        assert_eq!(memory.preference("plan 0", &id("1.0")), None);
        for number in 0..100 {
            let id = AdapterId { name: format!("adapter {number}"), driver: String::new() };
            memory.remember_fault(&id, &"long ".repeat(1000), NOW);
        }
        assert_eq!(memory.adapters.len(), ADAPTERS_MAX);
        assert!(serde_json::to_vec(&memory).unwrap().len() < 100_000);
    }

    #[test]
    fn a_plan_is_another_for_another_model_and_another_batch() {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
        let larger = TrainingPlan { batch_size: 64, ..plan.clone() };
        let models = [b"a", b"b"].map(|bytes| BlobDigest::of(bytes));
        assert_eq!(plan_digest(models[0], &plan), plan_digest(models[0], &plan.clone()));
        assert_ne!(plan_digest(models[0], &plan), plan_digest(models[1], &plan));
        assert_ne!(plan_digest(models[0], &plan), plan_digest(models[0], &larger));
    }
}
