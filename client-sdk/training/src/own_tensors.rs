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
    /// The share of the own model in the client's predictions, from 0 to 1 (APFL); `None` if they are its own alone.
    pub share: Option<f32>,
    /// The control variate, in the order of the plan's schema; empty if it is 0, and if the plan corrects no drift.
    pub control: Vec<f32>,
    /// The cluster whose model the client has trained, counted from 0. A client of a cluster keeps nothing else.
    pub cluster: Option<usize>,
    /// The client's replica of the model (elastic averaging), in the order of the plan's schema; empty if there is none. A client with a
    /// replica keeps nothing else.
    pub replica: Vec<f32>,
}

impl OwnTensors {
    /// Returns the tensors to keep after a training whose gradients were corrected by `correction`. The control variate is the one
    /// of [`DriftCorrection`].
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
        let personal = part.pick_personal(&outcome.weights)?;
        let model = match outcome.own_weights.is_empty() {
            true => Vec::new(),
            false => part.pick(&outcome.own_weights)?,
        };
        let steps = outcome.metrics.step_count;
        let scale = plan.drift_correction.and_then(|drift| drift.scale(&plan.training, steps));
        let share = outcome.own_share.filter(|_| !model.is_empty());
        let Some(scale) = scale else { return Ok(Self { personal, model, share, ..Self::default() }) };
        let before = correction.unwrap_or_default().iter().copied().chain(std::iter::repeat(0.0));
        let changes = outcome.delta.iter().zip(before);
        let control =
            changes.map(|(change, before)| (-f64::from(before) - scale * f64::from(*change)) as f32);
        Ok(Self { personal, model, control: control.collect(), ..Self::default() })
    }

    /// Returns whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        let Self { personal, model, share: _, control, cluster, replica } = self;
        let numbers = [personal, model, control, replica];
        cluster.is_none() && numbers.iter().all(|numbers| numbers.is_empty())
    }

    /// Returns the constant that is added to each gradient of a training: one number for each element of the plan's schema, or
    /// `None` if all are 0. `shared` is the assignment's control variate.
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
            DriftCorrection::FedCm { alpha } => {
                let mut correction = shared?;
                correction.iter_mut().for_each(|shared| *shared *= (1.0 - alpha) / alpha);
                Some(correction)
            }
        }
    }

    /// Returns all weights of the client's replica, if there is one; those that do not travel are those of `starting_weights`.
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
            // A model may be followed by a control variate, which is as long.
            let is_whole = match *form {
                WITH_SHARE => count == whole + 1,
                _ => count == whole || *form == WITH_MODEL && count == 2 * whole,
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
    // A number that differs leaves the weights as they are.
    let _ = part.put_personal(&own.personal, whole);
}

/// Replaces all of a model's weights by those with which the client predicts: those of its own model, those of the mixture of its own
/// and the shared one, or else the personal tensors. If there are none, nothing is replaced.
pub fn with_own(part: &TrainedPart, own: &OwnTensors, whole: &mut [f32]) {
    let Some(share) = own.share else { return with_model(part, own, whole) };
    let Ok(mut mixed) = part.pick(whole) else { return };
    if mixed.len() == own.model.len() {
        mixed.iter_mut().zip(&own.model).for_each(|(shared, own)| *shared += share * (own - *shared));
        let _ = part.put(&mixed, whole);
    }
}

/// Replaces all of a model's weights by those of the client's own model, or else by the personal tensors. If there are none, nothing
/// is replaced.
pub fn with_model(part: &TrainedPart, own: &OwnTensors, whole: &mut [f32]) {
    with_personal(part, own, whole);
    let _ = part.put(&own.model, whole);
}

fn both(part: &TrainedPart) -> TensorSchema {
    let mut schema = part.personal_schema();
    schema.tensors.extend(part.schema().tensors);
    schema
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, Metrics, Model, onnx::build::mlp};
    use folkmoot_protocol::{ElasticAveraging, LocalOptimizer};
    use folkmoot_work::samples;

    use super::*;

    fn plan(personal: &[&str], drift_correction: Option<DriftCorrection>) -> Plan {
        let mut plan = Plan { drift_correction, ..samples::plan() };
        plan.training.personal = personal.iter().map(|pattern| (*pattern).into()).collect();
        plan
    }

    fn part(plan: &Plan) -> TrainedPart {
        let model = Model::from_onnx(&mlp(&[2, 3, 2], 1), &ImportLimits::default()).unwrap();
        TrainedPart::of(&model, &plan.training).unwrap()
    }

    fn head() -> (TrainedPart, OwnTensors) {
        let part = part(&plan(&["layer_2.*"], None));
        (part, OwnTensors { personal: (0..8u8).map(f32::from).collect(), ..OwnTensors::default() })
    }

    /// Returns the outcome of a training of four steps.
    fn outcome(delta: Vec<f32>) -> TrainingOutcome {
        let metrics = Metrics { step_count: 4, ..Metrics::default() };
        TrainingOutcome { delta, weights: vec![0.5; 17], ..TrainingOutcome::of_metrics(metrics) }
    }

    #[test]
    fn what_was_stored_comes_back_and_nothing_else_changes() {
        let (part, own) = head();
        let again = OwnTensors::decode(&part, &own.encode(&part).unwrap());
        assert_eq!(again, own);
        let mut whole = vec![-1.0; 17];
        with_personal(&part, &again, &mut whole);
        assert_eq!(whole[..9], [-1.0; 9]);
        assert_eq!(whole[9..], own.personal);
        let both = OwnTensors { control: vec![2.5; 9], ..own };
        assert_eq!(OwnTensors::decode(&part, &both.encode(&part).unwrap()), both);
        for control in [Vec::new(), vec![2.5; 9]] {
            let model = OwnTensors { model: vec![1.5; 9], control, ..OwnTensors::default() };
            assert_eq!(OwnTensors::decode(&part, &model.encode(&part).unwrap()), model);
            with_own(&part, &model, &mut whole);
            assert_eq!((&whole[..9], &whole[9..]), (&[1.5; 9][..], &again.personal[..]));
        }
    }

    #[test]
    fn a_mixture_is_of_the_clients_own_model_and_the_shared_one() {
        let part = part(&plan(&[], None));
        let own = OwnTensors { model: vec![3.0; 17], share: Some(0.25), ..OwnTensors::default() };
        let stored = own.encode(&part).unwrap();
        assert_eq!(OwnTensors::decode(&part, &stored), own);
        let mut whole = vec![1.0; 17];
        with_own(&part, &own, &mut whole);
        assert_eq!(whole, [1.5; 17]);
        with_model(&part, &own, &mut whole);
        assert_eq!(whole, [3.0; 17]);
        let share = |share: f32| [&stored[..stored.len() - 4], &share.to_le_bytes()].concat();
        for damaged in [share(1.5), share(f32::NAN), stored[..stored.len() - 4].to_vec()] {
            assert!(OwnTensors::decode(&part, &damaged).is_empty());
        }
        let outcome =
            TrainingOutcome { own_weights: vec![3.0; 17], own_share: Some(0.25), ..outcome(vec![1.0; 17]) };
        assert_eq!(OwnTensors::after(&part, &plan(&[], None), None, &outcome), Ok(own));
    }

    #[test]
    fn what_is_damaged_or_of_another_model_is_ignored() {
        let (head, own) = head();
        let body = part(&plan(&["layer_1.*"], None));
        let model = OwnTensors { model: vec![2.5; 9], ..OwnTensors::default() };
        for own in [own.clone(), OwnTensors { control: vec![2.5; 9], ..own }, model] {
            let stored = own.encode(&head).unwrap();
            let not_finite = [&stored[..stored.len() - 4], &f32::NAN.to_le_bytes()].concat();
            let damaged = [b"", &stored[1..], &stored[..stored.len() - 1], &stored[..9], &not_finite];
            for (part, bytes) in damaged.into_iter().map(|bytes| (&head, bytes)).chain([(&body, &stored[..])])
            {
                assert!(OwnTensors::decode(part, bytes).is_empty(), "{} bytes", bytes.len());
            }
        }
        let mut whole = vec![7.0; 17];
        with_personal(&head, &OwnTensors::default(), &mut whole);
        assert_eq!(whole, [7.0; 17]);
    }

    #[test]
    fn a_replica_and_a_cluster_come_back() {
        let mut plan = plan(&[], None);
        plan.training.elastic_averaging = Some(ElasticAveraging { alpha: 0.5 });
        let part = part(&plan);
        let own = OwnTensors::after(&part, &plan, None, &outcome(vec![1.0; 17])).unwrap();
        assert_eq!(own.replica, [0.0; 17], "half of the change is taken from the weights");
        assert_eq!(own.replica_from(&part, &[9.0; 17]), Some(vec![0.0; 17]));
        let cluster = OwnTensors { cluster: Some(3), ..OwnTensors::default() };
        for own in [own, cluster] {
            let stored = own.encode(&part).unwrap();
            assert_eq!(OwnTensors::decode(&part, &stored), own);
            assert!(OwnTensors::decode(&part, &stored[..stored.len() - 1]).is_empty());
        }
        assert_eq!(OwnTensors::default().replica_from(&part, &[9.0; 17]), None);
    }

    #[test]
    fn without_own_tensors_nothing_is_stored() {
        let plan = plan(&[], None);
        let own = OwnTensors::after(&part(&plan), &plan, None, &outcome(vec![1.0; 17])).unwrap();
        assert_eq!((own.encode(&part(&plan)), own), (None, OwnTensors::default()));
    }

    /// With plain SGD, a training of K steps changes the weights by −r·Σ(gradient + c − cᵢ). So the new cᵢ of SCAFFOLD must be the
    /// mean gradient.
    #[test]
    fn scaffold_keeps_the_mean_gradient() {
        let plan = plan(&["layer_2.*"], Some(DriftCorrection::Scaffold));
        let LocalOptimizer::Sgd { learning_rate, .. } = plan.training.optimizer else { panic!("plain SGD") };
        let part = part(&plan);
        let first = OwnTensors::default();
        assert_eq!(first.correction(DriftCorrection::Scaffold, None), None);
        let mean_gradient = 3.0;
        let change = |correction: f32| vec![-learning_rate * 4.0 * (mean_gradient + correction); 9];
        let own = OwnTensors::after(&part, &plan, None, &outcome(change(0.0))).unwrap();
        assert!(own.control.iter().all(|value| (value - 3.0).abs() < 1e-5), "{:?}", own.control);
        let correction = own.correction(DriftCorrection::Scaffold, Some(vec![0.5; 9])).unwrap();
        assert!((correction[0] + 2.5).abs() < 1e-5, "{correction:?}");
        let next = OwnTensors::after(&part, &plan, Some(&correction), &outcome(change(-2.5))).unwrap();
        assert!(next.control.iter().all(|value| (value - 3.0).abs() < 1e-5), "{:?}", next.control);
        assert_eq!(next.personal, [0.5; 8]);
        assert_eq!(next.correction(DriftCorrection::Scaffold, None), None, "the coordinator begins again");
    }

    /// gᵢ ← gᵢ − alpha·Δ, of which the correction is −gᵢ.
    #[test]
    fn fed_dyn_sums_the_changes() {
        let drift = DriftCorrection::FedDyn { alpha: 0.5 };
        let plan = plan(&[], Some(drift));
        let part = part(&plan);
        assert_eq!(OwnTensors::default().correction(drift, None), None);
        let own = OwnTensors::after(&part, &plan, None, &outcome(vec![2.0; 17])).unwrap();
        assert_eq!(own.control, [-1.0; 17]);
        let correction = own.correction(drift, None).unwrap();
        assert_eq!(correction, [1.0; 17]);
        let next = OwnTensors::after(&part, &plan, Some(&correction), &outcome(vec![-1.0; 17])).unwrap();
        assert_eq!(next.control, [-0.5; 17]);
    }

    /// The step is learning rate · (gradient + correction), and the learning rate contains alpha.
    #[test]
    fn fed_cm_mixes_the_gradient_with_the_shared_direction_and_keeps_nothing() {
        let drift = DriftCorrection::FedCm { alpha: 0.25 };
        let plan = plan(&[], Some(drift));
        assert_eq!(OwnTensors::default().correction(drift, None), None);
        assert_eq!(OwnTensors::default().correction(drift, Some(vec![0.5; 17])), Some(vec![1.5; 17]));
        let own = OwnTensors::after(&part(&plan), &plan, Some(&[1.5; 17]), &outcome(vec![2.0; 17])).unwrap();
        assert!(own.is_empty());
    }
}
