use std::ops::Range;

use folkmoot_onnx::{ParameterKind, ParameterSpec};
use folkmoot_protocol::{TensorSchema, TensorSpec, TrainingPlan};

use crate::fit::FitError;
use crate::model::Model;
use crate::step::{Parameters, Role};

/// The tensors of a model that a plan can change in the shared model. Frozen tensors do not belong to it, nor do
/// personal ones, of which each client keeps its own.
///
/// Only these tensors travel: updates and model versions hold them one after another, in the order of the model's
/// parameters. In the shared model, all other tensors keep the value from the model's file, bit for bit.
#[derive(Debug, Clone)]
pub struct TrainedPart {
    model: Model,
    tensors: Chosen,
    personal: Chosen,
    normalizes_batches: bool,
}

/// Tensors of a model: for each, its index among the parameters and its range in a flat vector of all weights.
#[derive(Debug, Clone)]
struct Chosen(Vec<(usize, Range<usize>)>);

impl TrainedPart {
    /// Finds the tensors of `model` that `plan` can change.
    ///
    /// # Errors
    /// Returns [`FitError::Pattern`] if a pattern of the plan matches no parameter, and [`FitError::PersonalFrozen`] if a
    /// personal parameter is frozen.
    pub fn of(model: &Model, plan: &TrainingPlan) -> Result<Self, FitError> {
        Ok(Self::new(model, &Parameters::new(model, plan)?))
    }

    pub(crate) fn new(model: &Model, parameters: &Parameters) -> Self {
        let chosen = |chosen: &mut dyn Iterator<Item = bool>| {
            let ranges = chosen.zip(&parameters.ranges).enumerate().filter(|(_, (is_chosen, _))| *is_chosen);
            Chosen(ranges.map(|(position, (_, range))| (position, range.clone())).collect())
        };
        Self {
            model: model.clone(),
            tensors: chosen(&mut parameters.travelling()),
            personal: chosen(&mut parameters.personal().iter().copied()),
            normalizes_batches: parameters.roles.contains(&Role::Statistic),
        }
    }

    /// Returns whether training normalizes with the statistics of a batch, which mixes its examples.
    pub fn normalizes_batches(&self) -> bool {
        self.normalizes_batches
    }

    /// Returns the tensors, in order.
    pub fn tensors(&self) -> impl Iterator<Item = &ParameterSpec> {
        self.positions().map(|position| &self.model.parameters()[position])
    }

    /// Returns the indexes of the tensors among the model's parameters.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        self.tensors.0.iter().map(|(position, _)| *position)
    }

    /// Returns the schema of updates and versions.
    pub fn schema(&self) -> TensorSchema {
        self.tensors.schema(&self.model)
    }

    /// Returns the total number of elements of the tensors.
    pub fn parameter_count(&self) -> usize {
        self.tensors.element_count()
    }

    /// Extracts the part from a vector of all of the model's weights.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `whole` is not the model's number of parameters.
    pub fn pick(&self, whole: &[f32]) -> Result<Vec<f32>, FitError> {
        self.tensors.pick(&self.model, whole)
    }

    /// Returns a vector of all of the model's weights: the trained part from `part`, the others from the model's file.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `part` is not the part's number of parameters.
    pub fn fill(&self, part: Vec<f32>) -> Result<Vec<f32>, FitError> {
        expect_count(self.parameter_count(), &part)?;
        if part.len() == self.model.parameter_count() {
            return Ok(part);
        }
        let mut whole = self.model.initial_weights();
        self.tensors.put(&part, &mut whole)?;
        Ok(whole)
    }

    /// Returns a vector as long as all of the model's weights: the numbers of `part` for the part, and 0 for the others.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `part` is not the part's number of parameters.
    pub fn spread(&self, part: &[f32]) -> Result<Vec<f32>, FitError> {
        let mut whole = vec![0.0; self.model.parameter_count()];
        self.tensors.put(part, &mut whole)?;
        Ok(whole)
    }

    /// Replaces the part in a vector of all of the model's weights.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `part` is not the part's number of parameters.
    ///
    /// # Panics
    /// If `whole` is shorter than the model's weights.
    pub fn put(&self, part: &[f32], whole: &mut [f32]) -> Result<(), FitError> {
        self.tensors.put(part, whole)
    }

    /// Returns whether a personal tensor is trained by its gradient, and not only a running statistic.
    pub fn trains_personal(&self) -> bool {
        let kinds = self.personal.0.iter().map(|(position, _)| self.model.parameters()[*position].kind);
        kinds.into_iter().any(|kind| kind != ParameterKind::Statistic)
    }

    /// Returns the schema of the personal tensors, which each client keeps for itself. Without any, it has no tensors.
    pub fn personal_schema(&self) -> TensorSchema {
        self.personal.schema(&self.model)
    }

    /// Extracts the personal tensors from a vector of all of the model's weights.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `whole` is not the model's number of parameters.
    pub fn pick_personal(&self, whole: &[f32]) -> Result<Vec<f32>, FitError> {
        self.personal.pick(&self.model, whole)
    }

    /// Replaces the personal tensors in a vector of all of the model's weights.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `personal` is not the number of personal elements.
    ///
    /// # Panics
    /// If `whole` is shorter than the model's weights.
    pub fn put_personal(&self, personal: &[f32], whole: &mut [f32]) -> Result<(), FitError> {
        self.personal.put(personal, whole)
    }

    /// Collects the values of `of` for the range of each tensor.
    pub(crate) fn picked<I: Iterator<Item = f32>>(&self, of: impl Fn(Range<usize>) -> I) -> Vec<f32> {
        let mut part = Vec::with_capacity(self.parameter_count());
        for (_, range) in &self.tensors.0 {
            part.extend(of(range.clone()));
        }
        part
    }
}

impl Chosen {
    fn schema(&self, model: &Model) -> TensorSchema {
        let tensors = self.0.iter().map(|(position, _)| TensorSpec::from(&model.parameters()[*position]));
        TensorSchema { tensors: tensors.collect() }
    }

    fn element_count(&self) -> usize {
        self.0.iter().map(|(_, range)| range.len()).sum()
    }

    fn pick(&self, model: &Model, whole: &[f32]) -> Result<Vec<f32>, FitError> {
        expect_count(model.parameter_count(), whole)?;
        let mut part = Vec::with_capacity(self.element_count());
        for (_, range) in &self.0 {
            part.extend_from_slice(&whole[range.clone()]);
        }
        Ok(part)
    }

    fn put(&self, part: &[f32], whole: &mut [f32]) -> Result<(), FitError> {
        expect_count(self.element_count(), part)?;
        let mut rest = part;
        for (_, range) in &self.0 {
            let (tensor, behind) = rest.split_at(range.len());
            whole[range.clone()].copy_from_slice(tensor);
            rest = behind;
        }
        Ok(())
    }
}

fn expect_count(expected: usize, weights: &[f32]) -> Result<(), FitError> {
    let found = weights.len();
    if found == expected { Ok(()) } else { Err(FitError::WeightCount { expected, found }) }
}

#[cfg(test)]
mod tests {
    use folkmoot_onnx::{ImportLimits, build::mlp};
    use folkmoot_protocol::{LocalOptimizer, Loss, NamePattern};

    use super::*;

    fn part(frozen: &[&str]) -> TrainedPart {
        let model = Model::from_onnx(&mlp(&[2, 3, 2], 1), &ImportLimits::default()).unwrap();
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        let frozen = frozen.iter().map(|pattern| NamePattern::from(*pattern)).collect();
        TrainedPart::of(&model, &TrainingPlan { frozen, ..plan }).unwrap()
    }

    #[test]
    fn a_part_is_taken_out_and_put_back_and_the_others_are_the_files() {
        let part = part(&["*.weight"]);
        let names: Vec<&str> = part.tensors().map(|tensor| tensor.name.as_str()).collect();
        assert!(names.len() == 2 && names.iter().all(|name| name.ends_with("bias")), "{names:?}");
        assert_eq!((part.parameter_count(), part.schema().parameter_count()), (5, 5));
        let start = part.model.initial_weights();
        let whole = part.fill(vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(part.pick(&whole).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(whole.iter().zip(&start).filter(|(now, before)| now != before).count(), 5);
        assert_eq!(part.fill(part.pick(&start).unwrap()).unwrap(), start);
    }

    #[test]
    fn personal_tensors_are_no_part_of_the_shared_model() {
        let model = Model::from_onnx(&mlp(&[2, 3, 2], 1), &ImportLimits::default()).unwrap();
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        let of = |personal: &str, frozen: &[&str]| {
            let frozen = frozen.iter().map(|pattern| NamePattern::from(*pattern)).collect();
            TrainedPart::of(&model, &TrainingPlan { personal: vec![personal.into()], frozen, ..plan.clone() })
        };
        let part = of("layer_2.*", &[]).unwrap();
        assert_eq!((part.parameter_count(), part.personal_schema().parameter_count()), (9, 8));
        let mut whole: Vec<f32> = (0..17u8).map(f32::from).collect();
        let own = part.pick_personal(&whole).unwrap();
        assert_eq!(own, (9..17u8).map(f32::from).collect::<Vec<_>>());
        assert_eq!(part.pick(&whole).unwrap(), (0..9u8).map(f32::from).collect::<Vec<_>>());
        part.put_personal(&[-1.0; 8], &mut whole).unwrap();
        assert_eq!(whole[8..10], [8.0, -1.0]);
        assert_eq!(
            part.put_personal(&[0.0; 7], &mut whole),
            Err(FitError::WeightCount { expected: 8, found: 7 })
        );
        assert!(matches!(of("heads.*", &[]), Err(FitError::Pattern { list: "personal", .. })));
        let name = "layer_2.weight".to_owned();
        assert_eq!(of("layer_2.*", &["*.weight"]).unwrap_err(), FitError::PersonalFrozen { name });
    }

    #[test]
    fn a_wrong_number_of_weights_is_refused() {
        let part = part(&["*.weight"]);
        assert_eq!(part.fill(vec![0.0; 17]), Err(FitError::WeightCount { expected: 5, found: 17 }));
        assert_eq!(part.pick(&[0.0; 5]), Err(FitError::WeightCount { expected: 17, found: 5 }));
    }

    #[test]
    fn without_frozen_tensors_the_part_is_the_model() {
        let part = part(&[]);
        assert_eq!(part.parameter_count(), part.model.parameter_count());
        let weights: Vec<f32> = (0..17u8).map(f32::from).collect();
        assert_eq!(part.fill(weights.clone()).as_ref(), Ok(&weights));
        assert_eq!(part.pick(&weights).unwrap(), weights);
    }
}
