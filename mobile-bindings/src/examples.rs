use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folkmoot_client::engine::{Examples, Labels};

use crate::{FloatBuffer, FolkmootError};

/// The maximum class number. Float32 represents all integers up to this value exactly.
const CLASS_MAX: f32 = 16_777_216.0;

/// The kind of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum LabelKind {
    /// Class numbers: one per example, or one for each position of a sequence.
    Classes,
    /// Target values.
    Targets,
}

/// The examples of this device, which never leave it. They are only in memory: add them again after a restart.
#[derive(Debug, Default, uniffi::Object)]
pub struct ExampleSet(Mutex<Vec<Examples>>);

#[uniffi::export]
impl ExampleSet {
    /// Adds examples for the next start: all of them, or none if there is an error.
    ///
    /// `shape` is the shape of one example's features. Features and labels are in row-major order. The call takes the
    /// values out of both buffers.
    pub fn add(
        &self,
        features: Arc<FloatBuffer>,
        shape: Vec<u64>,
        labels: Arc<FloatBuffer>,
        kind: LabelKind,
        labels_per_example: u32,
    ) -> Result<(), FolkmootError> {
        let shape = shape.into_iter().map(|size| usize::try_from(size).unwrap_or(usize::MAX)).collect();
        let labels = labels_of(labels.take(), kind, labels_per_example as usize)?;
        let examples = Examples::new(features.take(), shape, labels)?;
        let mut all = self.lock();
        if let Some(first) = all.first() {
            check_likeness(first, &examples)?;
        }
        all.push(examples);
        Ok(())
    }

    /// Returns the number of examples.
    pub fn count(&self) -> u64 {
        self.lock().iter().map(|examples| examples.len() as u64).sum()
    }

    /// Removes all examples. A current run continues with the examples that it started with.
    pub fn clear(&self) {
        self.lock().clear();
    }
}

impl ExampleSet {
    /// Returns all examples as one set, or `None` if there are none.
    pub(crate) fn joined(&self) -> Result<Option<Examples>, FolkmootError> {
        let mut all = self.lock();
        if all.len() > 1 {
            let joined = join(&all)?;
            *all = vec![joined];
        }
        Ok(all.first().filter(|examples| !examples.is_empty()).cloned())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Examples>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn labels_of(values: Vec<f32>, kind: LabelKind, per_example: usize) -> Result<Labels, FolkmootError> {
    if kind == LabelKind::Targets {
        return Ok(Labels::Targets(values, per_example));
    }
    let is_class = |value: &f32| value.fract() == 0.0 && (0.0..=CLASS_MAX).contains(value);
    if let Some(index) = values.iter().position(|value| !is_class(value)) {
        let detail = format!(
            "label {} of example {} is not a class; use an integer of 0 or more, or add the labels as targets",
            index % per_example.max(1),
            index / per_example.max(1),
        );
        return Err(FolkmootError::BadExample { detail });
    }
    let classes = values.into_iter().map(|value| value as u32).collect();
    Ok(if per_example == 1 { Labels::Classes(classes) } else { Labels::Sequences(classes, per_example) })
}

fn check_likeness(first: &Examples, others: &Examples) -> Result<(), FolkmootError> {
    let form = |examples: &Examples| {
        let labels = examples.labels();
        let kind = if matches!(labels, Labels::Targets(..)) { "targets" } else { "classes" };
        let (shape, per_example) = (examples.feature_shape(), labels.per_example());
        format!("features of shape {shape:?} and {per_example} {kind} each")
    };
    let (first, others) = (form(first), form(others));
    if first == others {
        return Ok(());
    }
    let detail = format!(
        "these examples have {others}, but those added before have {first}; clear those first, or add examples of the same form"
    );
    Err(FolkmootError::BadExample { detail })
}

fn join(all: &[Examples]) -> Result<Examples, FolkmootError> {
    let features = all.iter().flat_map(|examples| examples.features()).copied().collect();
    let (mut classes, mut targets, mut per_example) = (Vec::new(), Vec::new(), 1);
    for examples in all {
        per_example = examples.labels().per_example();
        match examples.labels() {
            Labels::Classes(values) | Labels::Sequences(values, _) => classes.extend_from_slice(values),
            Labels::Targets(values, _) => targets.extend_from_slice(values),
        }
    }
    let labels = match all.first().map(Examples::labels) {
        Some(Labels::Targets(..)) => Labels::Targets(targets, per_example),
        Some(Labels::Sequences(..)) => Labels::Sequences(classes, per_example),
        _ => Labels::Classes(classes),
    };
    let shape = all.first().map(|examples| examples.feature_shape().to_vec()).unwrap_or_default();
    Ok(Examples::new(features, shape, labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(values: &[f32]) -> Arc<FloatBuffer> {
        Arc::new(values.to_vec().into())
    }

    fn add(set: &ExampleSet, features: &[f32], labels: &[f32], kind: LabelKind) -> Result<(), FolkmootError> {
        set.add(buffer(features), vec![2], buffer(labels), kind, 1)
    }

    #[test]
    fn parts_are_joined_in_their_order() {
        let set = ExampleSet::default();
        assert_eq!(set.joined().unwrap(), None);
        add(&set, &[1.0, 2.0], &[3.0], LabelKind::Classes).unwrap();
        add(&set, &[4.0, 5.0, 6.0, 7.0], &[0.0, 1.0], LabelKind::Classes).unwrap();
        assert_eq!(set.count(), 3);
        let joined = set.joined().unwrap().unwrap();
        assert_eq!(joined.features(), [1.0, 2.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(joined.labels(), &Labels::Classes(vec![3, 0, 1]));
        set.clear();
        assert_eq!(set.count(), 0);
    }

    #[test]
    fn what_is_unlike_or_no_class_is_refused_whole() {
        let set = ExampleSet::default();
        add(&set, &[1.0, 2.0], &[3.0], LabelKind::Classes).unwrap();
        let error = add(&set, &[1.0, 2.0], &[3.0], LabelKind::Targets).unwrap_err().to_string();
        assert!(error.contains("1 targets each") && error.contains("1 classes each"), "{error}");
        for label in [-1.0, 0.5, f32::NAN, 1e9] {
            let error = add(&set, &[1.0, 2.0], &[label], LabelKind::Classes).unwrap_err().to_string();
            assert!(error.contains("label 0 of example 0"), "{error}");
        }
        assert!(add(&set, &[1.0, f32::NAN], &[3.0], LabelKind::Classes).is_err());
        assert_eq!(set.count(), 1);
    }
}
