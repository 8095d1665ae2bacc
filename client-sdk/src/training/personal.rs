//! Personal tensors, which a client trains for itself and keeps between two trainings of a task.

use folkmoot_engine::{FitError, TrainedPart};

/// The first bytes of a file of personal tensors, with the version of its form.
const MAGIC: [u8; 8] = *b"FMPERS\x00\x01";
/// The length of a schema's digest.
const DIGEST_BYTES: usize = 32;

/// Returns what to store of a model's weights after a training: [`MAGIC`], the digest of the personal tensors' schema, and
/// their values in little endian. Returns `None` if no tensor is personal.
///
/// # Errors
/// [`FitError::WeightCount`] if `whole` is not as long as the model.
pub(super) fn encode(part: &TrainedPart, whole: &[f32]) -> Result<Option<Vec<u8>>, FitError> {
    let schema = part.personal_schema();
    if schema.tensors.is_empty() {
        return Ok(None);
    }
    let own = part.pick_personal(whole)?;
    let mut bytes = Vec::with_capacity(MAGIC.len() + DIGEST_BYTES + 4 * own.len());
    bytes.extend(MAGIC);
    bytes.extend(schema.digest());
    bytes.extend(own.iter().flat_map(|value| value.to_le_bytes()));
    Ok(Some(bytes))
}

/// Replaces the personal tensors in all of a model's weights by stored ones. If these are damaged, or of another model, nothing is
/// replaced: the training then starts with the values of the model's file, like the first.
pub fn with_personal(part: &TrainedPart, stored: &[u8], whole: &mut [f32]) {
    let schema = part.personal_schema();
    if schema.tensors.is_empty() {
        return;
    }
    let own = || {
        let rest = stored.strip_prefix(&MAGIC)?.strip_prefix(schema.digest().as_slice())?;
        let (values, odd) = rest.as_chunks::<4>();
        let values: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
        (odd.is_empty() && values.iter().all(|value| value.is_finite())).then_some(values)
    };
    if own().is_none_or(|own| part.put_personal(&own, whole).is_err()) {
        #[cfg(not(target_family = "wasm"))]
        tracing::warn!("the stored personal tensors do not fit the model; they start again");
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, Model, onnx::build::mlp};
    use folkmoot_work::samples;

    use super::*;

    fn part(personal: &[&str]) -> TrainedPart {
        let model = Model::from_onnx(&mlp(&[2, 3, 2], 1), &ImportLimits::default()).unwrap();
        let mut plan = samples::plan().training;
        plan.personal = personal.iter().map(|pattern| (*pattern).into()).collect();
        TrainedPart::of(&model, &plan).unwrap()
    }

    #[test]
    fn what_was_stored_comes_back_and_nothing_else_changes() {
        let part = part(&["layer_2.*"]);
        let trained: Vec<f32> = (0..17u8).map(f32::from).collect();
        let stored = encode(&part, &trained).unwrap().unwrap();
        let mut whole = vec![-1.0; 17];
        with_personal(&part, &stored, &mut whole);
        assert_eq!(whole[..9], [-1.0; 9]);
        assert_eq!(whole[9..], trained[9..]);
    }

    #[test]
    fn what_is_damaged_or_of_another_model_is_ignored() {
        let (head, body) = (part(&["layer_2.*"]), part(&["layer_1.*"]));
        let stored = encode(&head, &[1.0; 17]).unwrap().unwrap();
        let not_finite = [&stored[..stored.len() - 4], &f32::NAN.to_le_bytes()].concat();
        let damaged = [b"", &stored[1..], &stored[..stored.len() - 1], &stored[..9], &not_finite];
        for (part, bytes) in damaged.into_iter().map(|bytes| (&head, bytes)).chain([(&body, &stored[..])]) {
            let mut whole = vec![7.0; 17];
            with_personal(part, bytes, &mut whole);
            assert_eq!(whole, [7.0; 17], "{} bytes", bytes.len());
        }
    }

    #[test]
    fn without_personal_tensors_nothing_is_stored() {
        assert_eq!(encode(&part(&[]), &[0.0; 17]), Ok(None));
        let mut whole = vec![7.0; 17];
        with_personal(&part(&[]), b"anything", &mut whole);
        assert_eq!(whole, [7.0; 17]);
    }
}
