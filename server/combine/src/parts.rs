use std::ops::Range;

use folkmoot_protocol::{Clusters, ErrorCode, PartPlace, TensorSchema, TrainingPlan, ValueGrid, Widths};

use crate::refusal::Refusal;

/// The places of a task's parts in its versions and updates: its clusters, or its widths.
///
/// Updates have 1 at the share of their part, and zeros at the places that they do not train. The mean of a share is therefore the
/// share p of the total weight that the part's updates have. A place is trained by some parts, and its mean is the sum of their p times the
/// mean of their updates. So its step is the mean divided by that sum (Ghosh et al. 2020, algorithm 1, model averaging; Diao et al. 2021,
/// equations 2 and 3), also if the single updates are masked. A place without an update stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct PartPlaces {
    /// The runs of neighbouring values that have the same place: the end of each run, ascending, and its place.
    runs: Vec<(usize, PartPlace)>,
    kind: Kind,
    count: usize,
}

/// The kind of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Each place is of one cluster.
    Clusters,
    /// Each place is of a width and all wider ones, which have lower numbers.
    Widths,
}

/// The parts while a version is computed.
pub(super) struct PartMeans<'a> {
    places: &'a PartPlaces,
    /// The share of the total weight that each part's updates have, as far as it is known.
    shares: Vec<f64>,
    /// The largest magnitude of a place's mean: no honest one can be larger than the values of updates.
    mean_max: f64,
}

/// The next step of a run of values.
pub(super) enum RunStep {
    /// The values become the shares.
    Set,
    /// The values change by the mean of all updates, multiplied by `factor` and limited to the magnitude `most`. The
    /// limit exists because masked updates are not checked, and a hostile one can make a share tiny.
    Scaled { factor: f64, most: f64 },
    /// No client has trained these values.
    Keep,
}

impl PartPlaces {
    /// Finds the places in a task's schema. Returns `None` if the plan has neither clusters nor widths.
    pub fn of(plan: &TrainingPlan, schema: &TensorSchema) -> Option<Self> {
        let (kind, count, place): (_, _, fn(&str) -> PartPlace) = match (&plan.clusters, &plan.widths) {
            (Some(clusters), _) => (Kind::Clusters, clusters.number(), Clusters::place),
            (None, Some(widths)) => (Kind::Widths, widths.number(), Widths::place),
            (None, None) => return None,
        };
        let mut runs: Vec<(usize, PartPlace)> = Vec::new();
        let mut end = 0;
        for tensor in &schema.tensors {
            end += tensor.element_count().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
            let place = place(&tensor.name);
            match runs.last_mut().filter(|(_, last)| *last == place) {
                Some(run) => run.0 = end,
                None => runs.push((end, place)),
            }
        }
        Some(Self { runs, kind, count })
    }

    /// Returns whether the updates of a part have values at the places of `place`.
    fn trains(&self, part: usize, place: usize) -> bool {
        match self.kind {
            Kind::Clusters => part == place,
            Kind::Widths => part <= place,
        }
    }

    /// Returns the runs within this many values from `begin` on, with their ranges there.
    fn runs_within(&self, begin: usize, length: usize) -> impl Iterator<Item = (Range<usize>, PartPlace)> {
        let mut done = 0;
        self.runs.iter().filter_map(move |(end, place)| {
            let end = end.saturating_sub(begin).min(length);
            let run = done..end;
            done = done.max(end);
            (!run.is_empty()).then_some((run, *place))
        })
    }
}

/// Checks that an arriving update is for one part: one share is 1 and the others are 0, and values that the part does
/// not train are 0, too. Otherwise a client could count more at a place than its weight allows.
#[derive(Debug)]
pub struct PartCheck {
    places: PartPlaces,
    own: Option<usize>,
}

impl PartCheck {
    /// Begins the check of an update.
    pub fn new(places: PartPlaces) -> Self {
        Self { places, own: None }
    }

    /// Checks the next values, of which the first has the index `first`: float32, little-endian. They come in order.
    ///
    /// # Errors
    /// A refusal that names the first wrong value.
    pub(crate) fn add(&mut self, first: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let (values, _) = bytes.as_chunks::<4>();
        let begin = usize::try_from(first).unwrap_or(usize::MAX);
        for (run, place) in self.places.runs_within(begin, values.len()) {
            for index in run {
                let (value, number) = (f32::from_le_bytes(values[index]), begin + index);
                let is_right = match place {
                    PartPlace::Shares if value == 1.0 && self.own.is_none() => {
                        self.own = Some(number);
                        true
                    }
                    PartPlace::Shares => {
                        value == 0.0 && (self.own.is_some() || number + 1 < self.places.count)
                    }
                    PartPlace::Of(part) if !self.own.is_some_and(|own| self.places.trains(own, part)) => {
                        value == 0.0
                    }
                    PartPlace::Of(_) | PartPlace::Common => true,
                };
                if !is_right {
                    let word = match self.places.kind {
                        Kind::Clusters => {
                            "clusters has one share of 1, and zeros at the places of all other clusters"
                        }
                        Kind::Widths => {
                            "widths has one share of 1, and zeros at the places that a wider model adds"
                        }
                    };
                    let detail = format!(
                        "element {number} of the update is {value}, but the update of a plan with {word}"
                    );
                    return Err(Refusal::new(ErrorCode::UpdateValueOutOfRange, detail));
                }
            }
        }
        Ok(())
    }
}

impl<'a> PartMeans<'a> {
    pub fn new(places: &'a PartPlaces, grid: &ValueGrid) -> Self {
        Self { places, shares: Vec::with_capacity(places.count), mean_max: grid.value_max.into() }
    }

    /// Calls `visit` for each run of values within a tile that begins at `begin`, with the run's range within the tile. Tiles must
    /// come in order: the shares are at the beginning.
    pub fn for_each_run(
        &mut self,
        begin: usize,
        mean_delta: &[f64],
        mut visit: impl FnMut(Range<usize>, &RunStep),
    ) {
        for (run, place) in self.places.runs_within(begin, mean_delta.len()) {
            let step = match place {
                PartPlace::Shares => {
                    self.shares.extend_from_slice(&mean_delta[run.clone()]);
                    RunStep::Set
                }
                PartPlace::Common => RunStep::Scaled { factor: 1.0, most: f64::MAX },
                PartPlace::Of(place) => match self.share_at(place) {
                    share if share > 0.0 => RunStep::Scaled { factor: share.recip(), most: self.mean_max },
                    _ => RunStep::Keep,
                },
            };
            visit(run, &step);
        }
    }

    /// Returns the share of the total weight that the updates with values at a place have.
    fn share_at(&self, place: usize) -> f64 {
        let shares = self.shares.iter().enumerate();
        shares.filter(|(part, _)| self.places.trains(*part, place)).map(|(_, share)| share).sum()
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{LocalOptimizer, Loss, TensorSpec};

    use super::*;

    fn plan() -> TrainingPlan {
        TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1))
    }

    fn places() -> PartPlaces {
        let clusters = Clusters { count: 2, tensors: Vec::new(), start_spread: 1.0 };
        let tensor = |name: &str, length| TensorSpec { name: name.to_owned(), shape: vec![length] };
        let tensors = [(tensor("body", 2), false), (tensor("weight", 3), true), (tensor("bias", 1), true)];
        let schema = clusters.schema(&tensors);
        PartPlaces::of(&TrainingPlan { clusters: Some(Box::new(clusters)), ..plan() }, &schema).unwrap()
    }

    /// Passes the mean in tiles of this length, and returns the change of each value; `None` if the value stays.
    fn steps(mean: &[f64], tile: usize) -> Vec<Option<f64>> {
        let places = places();
        let mut means = PartMeans::new(&places, &ValueGrid::default());
        let mut steps = vec![None; mean.len()];
        for (number, tile_mean) in mean.chunks(tile).enumerate() {
            means.for_each_run(number * tile, tile_mean, |run, step| {
                for index in run {
                    steps[number * tile + index] = match step {
                        RunStep::Set => Some(tile_mean[index]),
                        RunStep::Scaled { factor, most } => {
                            Some((tile_mean[index] * factor).clamp(-most, *most))
                        }
                        RunStep::Keep => None,
                    };
                }
            });
        }
        steps
    }

    /// Three updates with the weights 1, 1 and 2. The first two have trained cluster 1 and changed its values by 2 and
    /// 4, which is 3 on average. The last one has trained cluster 2.
    #[test]
    fn a_cluster_moves_by_the_mean_of_its_own_updates_in_tiles_of_any_length() {
        let mean = [0.5, 0.5, 1.0, -1.0, 1.5, 1.5, 1.5, 1.5, 4.0, 4.0, 4.0, 4.0];
        let expected = [0.5, 0.5, 1.0, -1.0, 3.0, 3.0, 3.0, 3.0, 8.0, 8.0, 8.0, 8.0].map(Some);
        for tile in 1..=mean.len() {
            assert_eq!(steps(&mean, tile), expected, "{tile}");
        }
    }

    #[test]
    fn a_tiny_share_moves_a_cluster_by_no_more_than_a_value_can_be() {
        let tiny = 2f64.powi(-30);
        let mean = [tiny, 1.0, 0.0, 0.0, 1.0, -1.0, 0.0, tiny, 0.5, 0.5, 0.5, 0.5];
        let expected = [16.0, -16.0, 0.0, 1.0].map(Some);
        assert_eq!(steps(&mean, 5)[4..8], expected);
    }

    /// Returns whether an update of these values is taken, if its values come in pieces of this length.
    fn is_taken(values: &[f32], length: usize) -> bool {
        let mut check = PartCheck::new(places());
        values.chunks(length).enumerate().all(|(number, piece)| {
            let bytes: Vec<u8> = piece.iter().flat_map(|value| value.to_le_bytes()).collect();
            check.add((number * length) as u64, &bytes).is_ok()
        })
    }

    #[test]
    fn an_update_is_of_one_cluster() {
        let fine = [0.0, 1.0, 0.5, 0.5, 0.0, 0.0, -0.0, 0.0, 2.0, 2.0, 2.0, 2.0];
        let with = |changes: &[(usize, f32)]| {
            let mut values = fine;
            changes.iter().for_each(|(index, value)| values[*index] = *value);
            values
        };
        for length in [1, 3, 12] {
            assert!(is_taken(&fine, length), "{length}");
            let of_another = with(&[(6, 0.25)]);
            let (twice, negative, large) = (with(&[(0, 1.0)]), with(&[(0, -1.0)]), with(&[(1, 2.0)]));
            for wrong in [of_another, twice, negative, large, with(&[(1, 0.0)])] {
                assert!(!is_taken(&wrong, length), "{wrong:?} in pieces of {length}");
            }
        }
    }

    #[test]
    fn a_cluster_without_an_update_stays_as_it_is() {
        let mean = [0.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0];
        for tile in 1..=mean.len() {
            let steps = steps(&mean, tile);
            assert_eq!(steps[4..8], [None; 4]);
            assert_eq!(steps[8..], [Some(4.0); 4]);
        }
    }

    /// Three shares, then 2 values that all have, 1 that the middle width adds, and 2 that only the whole model has.
    fn widths() -> PartPlaces {
        let widths = Widths { ratios: vec![1.0, 0.5, 0.25], sampled: false };
        let schema = widths.schema(&[(TensorSpec { name: "w".to_owned(), shape: vec![2] }, vec![2, 1])]);
        PartPlaces::of(&TrainingPlan { widths: Some(Box::new(widths)), ..plan() }, &schema).unwrap()
    }

    /// Four updates of equal weight: one of the whole model, one of the middle width, and two of the narrowest.
    #[test]
    fn a_value_moves_by_the_mean_of_the_updates_that_have_it() {
        let places = widths();
        let mut means = PartMeans::new(&places, &ValueGrid::default());
        let mean = [0.25, 0.25, 0.5, 1.0, 2.0, 3.0, 1.0, 0.5];
        let mut moved = Vec::new();
        means.for_each_run(0, &mean, |run, step| {
            let factor = match step {
                RunStep::Set | RunStep::Keep => 1.0,
                RunStep::Scaled { factor, .. } => *factor,
            };
            moved.extend(mean[run].iter().map(|value| value * factor));
        });
        assert_eq!(moved, [0.25, 0.25, 0.5, 1.0, 2.0, 6.0, 4.0, 2.0]);
        let mut means = PartMeans::new(&places, &ValueGrid::default());
        let narrow = [0.0, 0.0, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0];
        let mut kept = 0;
        means.for_each_run(0, &narrow, |run, step| {
            kept += if matches!(step, RunStep::Keep) { run.len() } else { 0 };
        });
        assert_eq!(kept, 3);
    }

    #[test]
    fn a_narrow_update_has_zeros_where_a_wider_model_has_more() {
        let is_taken = |values: [f32; 8]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            PartCheck::new(widths()).add(0, &bytes).is_ok()
        };
        assert!(is_taken([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]));
        assert!(is_taken([0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0]));
        assert!(is_taken([0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]));
        assert!(!is_taken([0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.5]));
        assert!(!is_taken([0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0]));
        assert!(!is_taken([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]));
        assert!(!is_taken([0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]));
    }
}
