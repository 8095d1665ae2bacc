use serde::{Deserialize, Serialize};

use super::{fault::Faults, part_place::PartPlace};
use crate::{TensorSchema, TensorSpec, tensor::WIDTH_SHARES};

/// The maximum number of widths.
const WIDTHS_MAX: usize = 8;
/// The least ratio: narrower models learn nothing.
const RATIO_MIN: f32 = 0.01;

/// Narrower models for weak devices: a client trains the widest one whose training fits its memory (HeteroFL: Diao, Ding and Tarokh
/// 2021, section 3; FjORD: Horváth et al. 2021, section 4).
///
/// A narrow model has the first units of each hidden layer, and the leading part of each tensor. Each value of the version changes by the
/// mean over the clients whose model has it (HeteroFL, equations 2 and 3).
///
/// The tensor `width_shares` travels first. In an update, it has 1 at the place of the client's width. In a version, it
/// has the share of the clients with each width. The tensors of the narrowest model follow, and then the values that
/// each wider one adds to them, as tensors of one dimension. Their names begin with `width_2/`, `width_1/` and so on,
/// from narrow to wide. Width 1 is the whole model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Widths {
    /// The widths: for each, the share of a hidden layer's units that a model has. 2 to 8 numbers, from 1 downward to 0.01 at least. Half of
    /// the width has a quarter of the weights between two hidden layers.
    #[cfg_attr(feature = "schema", schemars(length(min = 2, max = 8), extend("examples" = [[1.0, 0.5, 0.25]])))]
    pub ratios: Vec<f32>,
    /// Whether a training draws one of the widths that fit, each as likely as the others (FjORD's ordered dropout, which draws for each
    /// step). Then the first units learn to do without the others. Otherwise a client trains the widest one that fits (HeteroFL).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = false)))]
    pub sampled: bool,
}

impl Widths {
    /// Returns whether the number of widths is allowed. Check it before anything is sized by it.
    pub fn has_valid_count(&self) -> bool {
        (2..=WIDTHS_MAX).contains(&self.ratios.len())
    }

    /// Returns the number of widths.
    pub fn number(&self) -> usize {
        self.ratios.len()
    }

    /// Returns the schema of the values that travel. `added` has for each tensor of the whole model its shape in the
    /// narrowest one, and the number of values that each wider one adds, from the widest to the second narrowest.
    pub fn schema(&self, added: &[(TensorSpec, Vec<u64>)]) -> TensorSchema {
        let shares = TensorSpec { name: WIDTH_SHARES.to_owned(), shape: vec![self.ratios.len() as u64] };
        let narrowest = added.iter().map(|(tensor, _)| tensor.clone());
        let wider = (0..self.ratios.len().saturating_sub(1)).rev().flat_map(|width| {
            let of_tensor = added.iter().map(move |(tensor, added)| TensorSpec {
                name: format!("width_{}/{}", width + 1, tensor.name),
                shape: vec![added[width]],
            });
            of_tensor.filter(|tensor| tensor.shape != [0])
        });
        TensorSchema { tensors: std::iter::once(shares).chain(narrowest).chain(wider).collect() }
    }

    /// Returns the place of a tensor of a task with widths. [`PartPlace::Of`] is for values of this width and all wider
    /// ones.
    pub fn place(name: &str) -> PartPlace {
        PartPlace::named(name, WIDTH_SHARES, "width_")
    }

    /// Returns the width to train: `widest`, the widest that fits. If widths are `sampled`, the seed draws one of the
    /// widths that fit, with equal probabilities.
    pub fn drawn(&self, widest: usize, seed: u64) -> usize {
        let fitting = self.ratios.len().saturating_sub(widest).max(1);
        let drawn = usize::try_from(mixed(seed) % fitting as u64).unwrap_or_default();
        if self.sampled { widest + drawn } else { widest }
    }

    /// Lists numbers that are out of range, and settings of the plan that contradict widths.
    pub(super) fn list_faults(&self, contradictions: [(bool, &'static str); 3], faults: &mut Faults) {
        let (field, count) = ("widths.ratios", self.ratios.len() as f64);
        if !self.has_valid_count() {
            faults.add(field, count, "a list of 2 to 8 ratios");
        }
        if let Some(first) = self.ratios.first().filter(|first| **first != 1.0) {
            faults.add(field, (*first).into(), "1 at first, which is the whole model");
        }
        if let Some(pair) = self.ratios.windows(2).find(|pair| pair[1] >= pair[0]) {
            faults.add(field, pair[1].into(), "below the ratio before it");
        }
        if let Some(small) = self.ratios.iter().find(|ratio| !(RATIO_MIN..=1.0).contains(*ratio)) {
            faults.add(field, (*small).into(), "0.01 to 1");
        }
        faults.add_contradictions(field, count, contradictions);
    }
}

/// Spreads the differences of seeds over all bits (SplitMix64: Steele, Lea and Flood 2014, figure 14).
fn mixed(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    seed ^ (seed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(ratios: &[f32]) -> Widths {
        Widths { ratios: ratios.to_vec(), sampled: false }
    }

    #[test]
    fn the_narrowest_model_travels_first_and_then_what_wider_ones_add() {
        let tensor = |name: &str, shape: &[u64]| TensorSpec { name: name.to_owned(), shape: shape.to_vec() };
        let added = [(tensor("weight", &[1, 3]), vec![6, 3]), (tensor("output", &[2]), vec![0, 0])];
        let schema = widths(&[1.0, 0.5, 0.25]).schema(&added);
        let names: Vec<&str> = schema.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        assert_eq!(names, ["width_shares", "weight", "output", "width_2/weight", "width_1/weight"]);
        assert_eq!(schema.parameter_count(), 3 + 3 + 2 + 3 + 6);
        let places: Vec<PartPlace> = names.iter().map(|name| Widths::place(name)).collect();
        let common = PartPlace::Common;
        assert_eq!(places, [PartPlace::Shares, common, common, PartPlace::Of(1), PartPlace::Of(0)]);
    }

    #[test]
    fn widths_that_fit_are_drawn_alike() {
        let sampled = Widths { sampled: true, ..widths(&[1.0, 0.5, 0.25]) };
        let counts = |widest: usize| {
            let mut counts = [0; 3];
            (0..3000).for_each(|seed| counts[sampled.drawn(widest, seed)] += 1);
            counts
        };
        assert!(counts(0).iter().all(|count| (900..1100).contains(count)), "{:?}", counts(0));
        assert!(counts(1)[0] == 0 && (1400..1600).contains(&counts(1)[1]), "{:?}", counts(1));
        assert_eq!(counts(2), [0, 0, 3000]);
        assert_eq!(widths(&[1.0, 0.5]).drawn(1, 7), 1);
        // The first number of the generator with the seed 0, as the paper's authors publish it.
        assert_eq!(mixed(0), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn numbers_and_contradictions_are_told() {
        let count = |ratios: &[f32], is_wrong| {
            let mut faults = Faults::default();
            widths(ratios).list_faults([(is_wrong, "absent"); 3], &mut faults);
            faults.0.len()
        };
        assert_eq!(count(&[1.0, 0.5], false), 0);
        assert_eq!(count(&[1.0, 0.5], true), 3);
        let wrong: [&[f32]; 7] =
            [&[1.0], &[0.9, 0.5], &[1.0, 1.0], &[1.0, 0.5, 0.6], &[1.0, 0.001], &[1.0, f32::NAN], &[]];
        for ratios in wrong {
            assert!(count(ratios, false) > 0, "{ratios:?}");
        }
    }
}
