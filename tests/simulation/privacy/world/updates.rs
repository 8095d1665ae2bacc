//! The clients' updates. Each unit has a different direction and shifts the sum in it as far as the clipping allows.

use std::sync::Arc;

use folkmoot_protocol::{
    AssignmentId, Plan, UpdateDigest,
    messages::Assignment,
    update::{HEADER_BYTES, UpdateHeader, UpdateMetrics},
};
use folkmoot_update::{Compression, encode_update, make_update};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::{World, refused};
use crate::{
    chance::Chance,
    invariants::{Broken, broken},
    privacy::{record::Sent, script::Nature},
};

/// An update of a client.
#[derive(Clone)]
pub struct Update {
    pub bytes: Vec<u8>,
    pub digest: UpdateDigest,
    /// The values before the client adds noise.
    pub plain: Vec<f32>,
    pub norm: f64,
    /// True if the client added noise.
    pub is_noised: bool,
}

impl Update {
    fn of(bytes: Vec<u8>, plain: Vec<f32>, norm: f64, is_noised: bool) -> Self {
        Self { digest: UpdateDigest::of(&bytes), bytes, plain, norm, is_noised }
    }

    /// Changes the update into a different one.
    pub fn change(&mut self) {
        let place = self.bytes.len() - 4;
        self.bytes[place] ^= 1;
        self.digest = UpdateDigest::of(&self.bytes);
    }

    /// Returns the values that are sent.
    fn values(&self) -> Vec<f32> {
        let (values, _) = self.bytes[HEADER_BYTES..].as_chunks::<4>();
        values.iter().map(|value| f32::from_le_bytes(*value)).collect()
    }
}

impl World {
    /// Creates a client's update for an assignment.
    pub(super) async fn update(&mut self, index: usize, assignment: &Assignment) -> Result<Update, Broken> {
        let plan = self.plan(assignment).await?;
        let client = &self.clients[index];
        let steps = plan.local_noise.map(|noise| noise.clipping_norm).or(assignment.clipping_norm);
        let steps = steps.ok_or_else(|| broken("a_private_task_clips", format!("{assignment:?}")))?;
        let norm = steps as f64 / f64::from(plan.grid.fraction_bits).exp2();
        let count = plan.schema.parameter_count() as usize;
        let length = norm * client.nature.length() / (count as f64).sqrt();
        let mut direction = Chance::of(self.seed, 1000 + client.unit as u64);
        let value = |_| if direction.happens(500) { length as f32 } else { -length as f32 };
        let delta: Vec<f32> = (0..count).map(value).collect();
        let header = UpdateHeader {
            assignment_id: assignment.assignment_id,
            schema_digest: plan.schema.digest(),
            base_version: assignment.base_version,
            weight: 1,
            metrics: UpdateMetrics::default(),
            element_count: count as u64,
            is_compressed: false,
        };
        if client.nature == Nature::Long && plan.local_noise.is_none() {
            // An honest client would have clipped the update.
            return Ok(Update::of(encode_update(&header, &delta), delta, norm, false));
        }
        let mut rng = ChaCha20Rng::seed_from_u64(self.chance.0.next_u64());
        let clipping = assignment.clipping_norm;
        let made = make_update(header, &delta, &plan, Compression::default(), clipping, &mut rng);
        let bytes = made.map_err(refused)?.bytes;
        if plan.local_noise.is_some() {
            let factor = (norm / norm_of(&delta)).min(1.0);
            let plain = delta.iter().map(|value| (f64::from(*value) * factor) as f32).collect();
            return Ok(Update::of(bytes, plain, norm, true));
        }
        let mut update = Update::of(bytes, Vec::new(), norm, false);
        update.plain = update.values();
        Ok(update)
    }

    async fn plan(&mut self, assignment: &Assignment) -> Result<Arc<Plan>, Broken> {
        let digest = assignment.plan.digest;
        if let Some(plan) = self.plans.get(&digest) {
            return Ok(plan.clone());
        }
        let bytes = self.coordinator.blobs.get(digest).await.map_err(refused)?;
        let plan: Arc<Plan> = Arc::new(serde_json::from_slice(&bytes).map_err(refused)?);
        self.plans.insert(digest, plan.clone());
        Ok(plan)
    }

    /// Records that an update's bytes have arrived up to a given position.
    pub(super) fn record_arrival(
        &mut self,
        index: usize,
        assignment: &Assignment,
        update: &Update,
        until: usize,
    ) {
        let (unit, task) = (self.clients[index].unit, assignment.task_id);
        let count = until.saturating_sub(HEADER_BYTES) / size_of::<f32>();
        let values = update.values();
        if update.is_noised {
            let arrived = values.iter().zip(&update.plain).take(count);
            let noise = arrived.map(|(value, plain)| (f64::from(*value) - f64::from(*plain)) / update.norm);
            let known = self.record.sent.get(&assignment.assignment_id).map_or(0, |sent| sent.values.len());
            self.record.local_noise.entry(task).or_default().add(noise.skip(known));
        }
        let sent = Sent {
            task,
            round: assignment.round_id,
            unit,
            norm: norm_of(&update.plain[..count]),
            values: values[..count].to_vec(),
            is_accepted: false,
        };
        let known = self.record.sent.entry(assignment.assignment_id).or_insert_with(|| sent.clone());
        if known.values.len() < count {
            *known = sent;
        }
    }

    pub(super) fn record_acceptance(&mut self, id: AssignmentId) {
        if let Some(sent) = self.record.sent.get_mut(&id) {
            sent.is_accepted = true;
        }
    }
}

fn norm_of(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}
