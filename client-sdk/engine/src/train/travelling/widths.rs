use folkmoot_onnx::ParameterSpec;
use folkmoot_protocol::{PartPlace, TensorSchema, TensorSpec, TrainingPlan, Widths};

use super::TrainedPart;
use crate::fit::FitError;
use crate::model::Model;
use crate::step::Parameters;

/// The places of the values of the whole model, and the narrower models.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    widths: Widths,
    /// The models of all widths with their trained parts, from the widest to the narrowest.
    models: Vec<(Model, TrainedPart)>,
    /// For each tensor of the part, for each axis and each index there, the narrowest width that has it.
    tensors: Vec<Vec<Vec<u8>>>,
    /// For each tensor of the part, the number of values that each width adds to the next narrower one. The narrowest has all of its
    /// values here.
    added: Vec<Vec<usize>>,
}

impl Layout {
    pub fn of(
        model: &Model,
        part: &TrainedPart,
        plan: &TrainingPlan,
        widths: &Widths,
    ) -> Result<Self, FitError> {
        let refuse = |detail: String| Err(FitError::Widths { detail });
        let ratios: Vec<f64> = widths.ratios.iter().copied().map(f64::from).collect();
        let is_fine = |ratio: &f64| *ratio > 0.0 && *ratio <= 1.0;
        if !widths.has_valid_count() || !ratios.iter().all(is_fine) {
            return refuse(format!(
                "the ratios are {:?}; 2 to 8 are possible, each above 0 and at most 1",
                widths.ratios
            ));
        }
        let frozen = Parameters::new(model, plan)?.frozen();
        let narrow = model.narrowed(&ratios[1..], &frozen);
        let narrow = narrow.map_err(|error| FitError::Widths { detail: error.to_string() })?;
        let mut models = vec![(model.clone(), part.clone())];
        for narrow in narrow {
            let narrow_part = TrainedPart::of(&narrow, plan)?;
            models.push((narrow, narrow_part));
        }
        for (pair, ratios) in models.windows(2).zip(widths.ratios.windows(2)) {
            if pair[0].0.parameter_count() <= pair[1].0.parameter_count() {
                return refuse(format!(
                    "the models with the ratios {} and {} are the same: a hidden layer is narrowed only if the model does not sum \
                     up, normalize, divide or join its units; use ratios that differ more, or another model",
                    ratios[0], ratios[1]
                ));
            }
        }
        if let Some(named) = part.tensors().find(|spec| Widths::place(&spec.name) != PartPlace::Common) {
            let name = &named.name;
            return refuse(format!("the tensor `{name}` has a name that a width's tensor has; rename it"));
        }
        let shapes =
            |index: usize| models.iter().filter_map(move |(_, part)| Some(&part.tensors().nth(index)?.shape));
        let count = part.tensors().count();
        let tensors = (0..count).map(|index| levels(&shapes(index).collect::<Vec<_>>())).collect();
        let added = (0..count).map(|index| {
            let counts: Vec<usize> = shapes(index).map(|shape| shape.iter().product()).collect();
            let wider = counts.windows(2).map(|pair| pair[0] - pair[1]);
            wider.chain(counts.last().copied()).collect()
        });
        let added = added.collect();
        Ok(Self { widths: widths.clone(), tensors, added, models })
    }

    pub fn number(&self) -> usize {
        self.widths.number()
    }

    /// Returns the model of a width, counted from 0, and its trained part.
    pub fn model(&self, width: usize) -> Option<&(Model, TrainedPart)> {
        self.models.get(width)
    }

    pub fn schema(&self) -> TensorSchema {
        let narrowest = self.models.last().into_iter().flat_map(|(_, part)| part.tensors());
        let added = narrowest.map(|tensor: &ParameterSpec| TensorSpec::from(tensor)).zip(&self.added);
        let counted = |added: &Vec<usize>| added.iter().map(|count| *count as u64).collect();
        self.widths.schema(&added.map(|(tensor, added)| (tensor, counted(added))).collect::<Vec<_>>())
    }

    pub fn value_count(&self) -> usize {
        self.number() + self.added.iter().flatten().sum::<usize>()
    }

    /// Returns the values that travel, given the values of the whole part: the share of each width is the same.
    pub fn starting(&self, part: &[f32]) -> Vec<f32> {
        let mut values = vec![0.0; self.value_count()];
        values[..self.number()].fill(1.0 / self.number() as f32);
        let mut rest = part.iter();
        self.for_each(|_, place| values[place] = rest.next().copied().unwrap_or_default());
        values
    }

    /// Returns the values of the whole part, given the values that travel.
    pub fn part(&self, values: &[f32]) -> Vec<f32> {
        let mut part = Vec::with_capacity(self.value_count());
        self.for_each(|_, place| part.push(values[place]));
        part
    }

    /// Returns the update of a client that has trained this width, counted from 0.
    pub fn update(&self, delta: &[f32], width: usize) -> Vec<f32> {
        let mut update = vec![0.0; self.value_count()];
        update[..self.number()][width] = 1.0;
        let mut rest = delta.iter();
        self.for_each(|narrowest, place| {
            if narrowest >= width {
                update[place] = rest.next().copied().unwrap_or_default();
            }
        });
        update
    }

    /// Calls `visit` for each value of the whole part, in order, with the narrowest width that has it, and its place
    /// among the values that travel.
    fn for_each(&self, mut visit: impl FnMut(usize, usize)) {
        let count = self.number();
        // The blocks of the widths are in the order from narrow to wide.
        let mut next = vec![count; count];
        for width in (0..count - 1).rev() {
            let narrower: usize = self.added.iter().map(|added| added[width + 1]).sum();
            next[width] = next[width + 1] + narrower;
        }
        for axes in &self.tensors {
            for_each_level(axes, count - 1, &mut |level| {
                visit(level, next[level]);
                next[level] += 1;
            });
        }
    }
}

/// Returns for each axis of a tensor, and each index there, the narrowest width that has it, given the shape in each width.
fn levels(shapes: &[&Vec<usize>]) -> Vec<Vec<u8>> {
    let narrowest = |axis: usize, index: usize| shapes.iter().rposition(|shape| index < shape[axis]);
    let axis = |axis: usize| {
        (0..shapes[0][axis]).map(|index| narrowest(axis, index).unwrap_or_default() as u8).collect()
    };
    (0..shapes[0].len()).map(axis).collect()
}

/// Visits the elements of a tensor, row-major, each with the narrowest width that has it. No width is narrower than `level`.
fn for_each_level(axes: &[Vec<u8>], level: usize, visit: &mut impl FnMut(usize)) {
    match axes {
        [] => visit(level),
        [axis] => axis.iter().for_each(|own| visit(level.min((*own).into()))),
        [axis, rest @ ..] => {
            axis.iter().for_each(|own| for_each_level(rest, level.min((*own).into()), visit));
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_onnx::{ImportLimits, build::mlp};
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::super::Travelling;
    use super::*;

    /// The model has the tensors layer_1.weight [4, 2], layer_1.bias [4], layer_2.weight [2, 4] and layer_2.bias [2].
    fn travelling(ratios: &[f32]) -> Result<Travelling, FitError> {
        let model = Model::from_onnx(&mlp(&[2, 4, 2], 1), &ImportLimits::default()).unwrap();
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        let widths = Some(Box::new(Widths { ratios: ratios.to_vec(), sampled: false }));
        Travelling::of(&model, &TrainingPlan { widths, ..plan })
    }

    fn counted(count: u8) -> Vec<f32> {
        (1..=count).map(f32::from).collect()
    }

    #[test]
    fn the_narrowest_model_comes_first_and_the_whole_comes_back() {
        let one = travelling(&[1.0, 0.5, 0.25]).unwrap();
        let names: Vec<String> = one.schema().tensors.into_iter().map(|tensor| tensor.name).collect();
        assert_eq!(names[0], "width_shares");
        assert_eq!(names[5..8], ["width_2/layer_1.weight", "width_2/layer_1.bias", "width_2/layer_2.weight"]);
        assert_eq!(names.len(), 1 + 4 + 3 + 3);
        assert_eq!(one.schema().parameter_count(), one.value_count() as u64);
        let whole = counted(22);
        let values = one.starting(&whole, 0).unwrap();
        assert_eq!(values[..3], [1.0 / 3.0; 3]);
        // The first unit, its weights to both outputs, and the biases of the outputs.
        assert_eq!(values[3..10], [1.0, 2.0, 9.0, 13.0, 17.0, 21.0, 22.0]);
        // The second unit's values, and then those of the other two.
        assert_eq!(values[10..15], [3.0, 4.0, 10.0, 14.0, 18.0]);
        assert_eq!(values[15..], [5.0, 6.0, 7.0, 8.0, 11.0, 12.0, 15.0, 16.0, 19.0, 20.0]);
        assert_eq!(one.fill(values, None).unwrap(), whole);
    }

    #[test]
    fn an_update_has_zeros_where_only_wider_models_have_values() {
        let one = travelling(&[1.0, 0.5, 0.25]).unwrap();
        let (half, part) = one.narrow(1).unwrap();
        assert_eq!((half.parameter_count(), part.parameter_count()), (12, 12));
        assert_eq!(half.leading_weights(&counted(22))[..6], [1.0, 2.0, 3.0, 4.0, 9.0, 10.0]);
        let update = one.update(counted(12), 1);
        assert_eq!(update[..3], [0.0, 1.0, 0.0]);
        assert_eq!(update[3..10], [1.0, 2.0, 5.0, 7.0, 9.0, 11.0, 12.0]);
        assert_eq!(update[10..15], [3.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(update[15..], [0.0; 10]);
        let whole = one.update(counted(22), 0);
        assert_eq!(whole[3..], one.starting(&counted(22), 0).unwrap()[3..]);
    }

    #[test]
    fn models_that_do_not_differ_are_refused() {
        let text =
            |ratios: &[f32]| travelling(ratios).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(text(&[1.0, 0.9]).contains("the ratios 1 and 0.9 are the same"), "{}", text(&[1.0, 0.9]));
        assert!(text(&[1.0]).contains("2 to 8"));
        for wrong in [f32::NAN, 1e30, 0.0, -1.0] {
            assert!(text(&[1.0, wrong]).contains("at most 1"), "{wrong}");
        }
        assert_eq!(text(&[1.0, 0.5]), "");
    }
}
