//! The values that a client keeps between two trainings of a task: its personal tensors, its own model, its control variate, the number of its
//! cluster, or its replica.

use folkmoot_engine::{FitError, TrainedPart, TrainingOutcome};
use folkmoot_protocol::{DriftCorrection, Plan, TensorSchema};

/// The first bytes of a file with personal tensors alone, with the version of its form.
const PERSONAL: [u8; 8] = *b"FMPERS\x00\x01";
/// The first bytes of a file with personal tensors, of which there may be none, and a control variate.
const WITH_CONTROL: [u8; 8] = *b"FMPERS\x00\x02";
/// The first bytes of a file with a model of the client's own, and a control variate, which may be missing.
const WITH_MODEL: [u8; 8] = *b"FMPERS\x00\x03";
/// The first bytes of a file with the number of the client's cluster.
const WITH_CLUSTER: [u8; 8] = *b"FMPERS\x00\x04";
/// The first bytes of a file with a replica of the model.
const WITH_REPLICA: [u8; 8] = *b"FMPERS\x00\x05";
/// The first bytes of a file with a model of the client's own, and its share in the predictions.
const WITH_SHARE: [u8; 8] = *b"FMPERS\x00\x06";
/// The length of a schema's digest.
const DIGEST_BYTES: usize = 32;

/// The tensors that a client keeps for its next training of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnTensors {
    /// The personal tensors; empty if there are none.
    pub personal: Vec<f32>,
    /// The client's own model (Ditto, pFedMe, APFL), in the order of the plan's schema; empty if there is none. It excludes personal tensors.
    pub model: Vec<f32>,
    /// The share of the own model in the client's predictions, from 0 to 1 (APFL); `None` if it predicts with the own
    /// model alone.
    pub share: Option<f32>,
    /// The control variate, in the order of the plan's schema; empty if it is 0, and if the plan corrects no drift. With FedDC, there
    /// are two, one after the other.
    pub control: Vec<f32>,
    /// The cluster whose model the client has trained, counted from 0. A client of a cluster keeps nothing else.
    pub cluster: Option<usize>,
    /// The client's replica of the model (elastic averaging), or the end of its last training (model contrast), in the order of
    /// the plan's schema; empty if there is none. A client with a replica keeps nothing else.
    pub replica: Vec<f32>,
}

impl OwnTensors {
    /// Returns the tensors to keep after a training whose gradients were corrected by the parts of `correction`.
    /// [`DriftCorrection`] defines the control variate.
    ///
    /// # Errors
    /// [`FitError::WeightCount`] if the outcome is not as long as the model.
    pub fn after(
        part: &TrainedPart,
        plan: &Plan,
        correction: Option<&[f32]>,
        outcome: &TrainingOutcome,
    ) -> Result<Self, FitError> {
        if let Some(elastic) = plan.training.elastic_averaging {
            let mut replica = part.pick(&outcome.weights)?;
            elastic.pull(&mut replica, &outcome.delta);
            return Ok(Self { replica, ..Self::default() });
        }
        if plan.training.model_contrast.is_some() {
            return Ok(Self { replica: part.pick(&outcome.weights)?, ..Self::default() });
        }
        let personal = part.pick_personal(&outcome.weights)?;
        let model = match outcome.own_weights.is_empty() {
            true => Vec::new(),
            false => part.pick(&outcome.own_weights)?,
        };
        let steps = outcome.metrics.step_count;
        let scales = plan.drift_correction.map(|drift| drift.scales(&plan.training, steps));
        let share = outcome.own_share.filter(|_| !model.is_empty());
        let scales = scales.unwrap_or_default();
        let before = correction.unwrap_or_default().iter().copied().chain(std::iter::repeat(0.0));
        let changes = scales
            .iter()
            .flat_map(|scale| outcome.delta.iter().map(move |change| scale * f64::from(*change)));
        let control = changes.zip(before).map(|(change, before)| (-f64::from(before) - change) as f32);
        Ok(Self { personal, model, share, control: control.collect(), ..Self::default() })
    }

    /// Returns whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        let Self { personal, model, share: _, control, cluster, replica } = self;
        let numbers = [personal, model, control, replica];
        cluster.is_none() && numbers.iter().all(|numbers| numbers.is_empty())
    }

    /// Returns the parts of the constant that is added to each gradient of a training, one after another: each has one number for each
    /// element of the plan's schema. Their sum is [`constant`]. Returns `None` if all are 0. `shared` is the assignment's control
    /// variate.
    pub fn correction(&self, drift: DriftCorrection, shared: Option<Vec<f32>>) -> Option<Vec<f32>> {
        match drift {
            DriftCorrection::Scaffold => {
                let mut correction = shared?;
                correction.iter_mut().zip(&self.control).for_each(|(shared, own)| *shared -= own);
                Some(correction)
            }
            DriftCorrection::FedDyn { .. } => {
                (!self.control.is_empty()).then(|| self.control.iter().map(|own| -own).collect())
            }
            DriftCorrection::FedDc { .. } => {
                let mut correction = shared?;
                correction.truncate(correction.len() / 2);
                let count = correction.len();
                correction.iter_mut().zip(&self.control).for_each(|(shared, own)| *shared -= own);
                correction.extend(self.control.iter().skip(count).map(|own| -own));
                correction.resize(2 * count, 0.0);
                Some(correction)
            }
            DriftCorrection::FedCm { alpha } => {
                let mut correction = shared?;
                correction.iter_mut().for_each(|shared| *shared *= (1.0 - alpha) / alpha);
                Some(correction)
            }
        }
    }

    /// Returns all weights of the client's replica, if there is one; tensors that do not travel come from
    /// `starting_weights`.
    pub fn replica_from(&self, part: &TrainedPart, starting_weights: &[f32]) -> Option<Vec<f32>> {
        let mut whole = (!self.replica.is_empty()).then(|| starting_weights.to_vec())?;
        part.put(&self.replica, &mut whole).ok()?;
        Some(whole)
    }

    /// Returns the bytes to store: the form, the digest of the tensors' schema, and the values in little endian. Returns
    /// `None` if there is nothing to store.
    pub fn encode(&self, part: &TrainedPart) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        if let Some(cluster) = self.cluster {
            let number = (cluster as u64).to_le_bytes();
            return Some([&WITH_CLUSTER[..], &part.schema().digest(), &number].concat());
        }
        let (form, schema) = match (self.model.is_empty(), self.control.is_empty()) {
            (false, _) if self.share.is_some() => (WITH_SHARE, part.schema()),
            (false, _) => (WITH_MODEL, part.schema()),
            (true, false) => (WITH_CONTROL, both(part)),
            (true, true) if !self.replica.is_empty() => (WITH_REPLICA, part.schema()),
            (true, true) => (PERSONAL, part.personal_schema()),
        };
        let values = self.personal.iter().chain(&self.model).chain(&self.share);
        let values = values.chain(&self.control).chain(&self.replica);
        let mut bytes = Vec::with_capacity(form.len() + DIGEST_BYTES + 4 * values.clone().count());
        bytes.extend(form);
        bytes.extend(schema.digest());
        bytes.extend(values.flat_map(|value| value.to_le_bytes()));
        Some(bytes)
    }

    /// Reads stored bytes. If they are damaged, or of another model, nothing is kept: the next training is then like the first.
    pub fn decode(part: &TrainedPart, stored: &[u8]) -> Self {
        let read = || {
            let (form, rest) = stored.split_first_chunk()?;
            if *form == WITH_CLUSTER {
                let number = rest.strip_prefix(part.schema().digest().as_slice())?.try_into().ok()?;
                let cluster = usize::try_from(u64::from_le_bytes(number)).ok();
                return Some(Self { cluster, ..Self::default() });
            }
            let personal_schema = part.personal_schema();
            let (schema, of_first) = match *form {
                PERSONAL => (personal_schema.clone(), personal_schema),
                WITH_CONTROL => (both(part), personal_schema),
                WITH_MODEL | WITH_REPLICA | WITH_SHARE => (part.schema(), part.schema()),
                _ => return None,
            };
            let (values, odd) = rest.strip_prefix(schema.digest().as_slice())?.as_chunks::<4>();
            let mut first: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
            let (count, whole) = (first.len(), schema.parameter_count() as usize);
            // A model may be followed by one or two control variates, which are as long.
            let of_control = part.parameter_count();
            let is_whole = match *form {
                WITH_SHARE => count == whole + 1,
                WITH_MODEL => (1..=3).any(|times| count == times * whole),
                WITH_CONTROL => count == whole || count == whole + of_control,
                _ => count == whole,
            };
            if !is_whole || !odd.is_empty() || !first.iter().all(|value| value.is_finite()) {
                return None;
            }
            let control = first.split_off(of_first.parameter_count() as usize);
            Some(match *form {
                WITH_SHARE => {
                    let share = control.first().copied().filter(|share| (0.0..=1.0).contains(share))?;
                    Self { model: first, share: Some(share), ..Self::default() }
                }
                WITH_MODEL => Self { model: first, control, ..Self::default() },
                WITH_REPLICA => Self { replica: first, ..Self::default() },
                _ => Self { personal: first, control, ..Self::default() },
            })
        };
        read().unwrap_or_else(|| {
            #[cfg(not(target_family = "wasm"))]
            tracing::warn!("the stored tensors of this task do not fit the model; they start again");
            Self::default()
        })
    }
}

/// Replaces the personal tensors in all of a model's weights by stored ones. If there are none, nothing is replaced: they keep
/// the values of the model's file.
pub fn with_personal(part: &TrainedPart, own: &OwnTensors, whole: &mut [f32]) {
    // If the numbers differ, the weights stay as they are.
    let _ = part.put_personal(&own.personal, whole);
}

/// Replaces a model's weights by the weights with which the client predicts: its own model, or the mixture of its own
/// and the shared model. A client with neither replaces only its personal tensors, if it has any.
pub fn with_own(part: &TrainedPart, own: &OwnTensors, whole: &mut [f32]) {
    let Some(share) = own.share else { return with_model(part, own, whole) };
    let Ok(mut mixed) = part.pick(whole) else { return };
    if mixed.len() == own.model.len() {
        mixed.iter_mut().zip(&own.model).for_each(|(shared, own)| *shared += share * (own - *shared));
        let _ = part.put(&mixed, whole);
    }
}

/// Replaces a model's weights by the weights of the client's own model. A client without one replaces only its personal
/// tensors, if it has any.
pub fn with_model(part: &TrainedPart, own: &OwnTensors, whole: &mut [f32]) {
    with_personal(part, own, whole);
    let _ = part.put(&own.model, whole);
}

/// Returns the sum of a correction's parts, each of which has `count` numbers.
pub fn constant(parts: &[f32], count: usize) -> Vec<f32> {
    let mut sum = vec![0.0; count];
    for part in parts.chunks(count.max(1)) {
        sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    }
    sum
}

fn both(part: &TrainedPart) -> TensorSchema {
    let mut schema = part.personal_schema();
    schema.tensors.extend(part.schema().tensors);
    schema
}

#[cfg(test)]
mod tests;
