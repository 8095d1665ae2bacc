use std::ops::Range;

use folkmoot_protocol::{ClusterPlace, Clusters, ErrorCode, TensorSchema, ValueGrid};

use crate::refusal::Refusal;

/// The places of a task's clusters in its versions and updates.
///
/// Updates have 1 at the share of their cluster, and zeros at the places of the others. The mean of a share is therefore the
/// share p of the total weight that the cluster's updates have, and the mean of the cluster's places is p times the mean of its updates. So
/// the step of a cluster is the mean divided by p (Ghosh et al. 2020, algorithm 1, model averaging), also if the single updates
/// are masked. A cluster without an update stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterPlaces {
    /// The ends of runs of values with one place, ascending.
    runs: Vec<(usize, ClusterPlace)>,
    count: usize,
}

/// The clusters while a version is computed.
pub(super) struct ClusterMeans<'a> {
    places: &'a ClusterPlaces,
    /// The share of the total weight that each cluster's updates have, as far as it is known.
    shares: Vec<f64>,
    /// The largest magnitude of a cluster's mean: no honest one can be larger than the values of updates.
    mean_max: f64,
}

/// The next step of a run of values.
pub(super) enum RunStep {
    /// The values become the shares.
    Set,
    /// The values change by the mean of all updates, multiplied by the factor and limited to this magnitude. Under masks, nobody has
    /// checked the updates, and a hostile one can make a share tiny.
    Scaled {
        /// The factor.
        factor: f64,
        /// The limit.
        most: f64,
    },
    /// No client has trained these values.
    Keep,
}

impl ClusterPlaces {
    /// Finds the places in a task's schema.
    pub fn of(clusters: &Clusters, schema: &TensorSchema) -> Self {
        let mut runs: Vec<(usize, ClusterPlace)> = Vec::new();
        let mut end = 0;
        for tensor in &schema.tensors {
            end += tensor.element_count().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
            let place = Clusters::place(&tensor.name);
            match runs.last_mut().filter(|(_, last)| *last == place) {
                Some(run) => run.0 = end,
                None => runs.push((end, place)),
            }
        }
        Self { runs, count: clusters.number() }
    }

    /// Returns the runs within this many values from `begin` on, with their ranges there.
    fn runs_within(&self, begin: usize, length: usize) -> impl Iterator<Item = (Range<usize>, ClusterPlace)> {
        let mut done = 0;
        self.runs.iter().filter_map(move |(end, place)| {
            let end = end.saturating_sub(begin).min(length);
            let run = done..end;
            done = done.max(end);
            (!run.is_empty()).then_some((run, *place))
        })
    }
}

/// The check that an arriving update is of one cluster: its shares are zeros and one 1, and so are zeros the values of the other
/// clusters. Otherwise a client could count more in a cluster than its weight allows.
#[derive(Debug)]
pub struct ClusterCheck {
    places: ClusterPlaces,
    own: Option<usize>,
}

impl ClusterCheck {
    /// Begins the check of an update.
    pub fn new(places: ClusterPlaces) -> Self {
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
                    ClusterPlace::Shares if value == 1.0 && self.own.is_none() => {
                        self.own = Some(number);
                        true
                    }
                    ClusterPlace::Shares => {
                        value == 0.0 && (self.own.is_some() || number + 1 < self.places.count)
                    }
                    ClusterPlace::Of(cluster) if Some(cluster) != self.own => value == 0.0,
                    ClusterPlace::Of(_) | ClusterPlace::Common => true,
                };
                if !is_right {
                    let detail = format!(
                        "element {number} of the update is {value}, but the update of a plan with clusters has one share of 1, \
                         and zeros at the places of all other clusters"
                    );
                    return Err(Refusal::new(ErrorCode::UpdateValueOutOfRange, detail));
                }
            }
        }
        Ok(())
    }
}

impl<'a> ClusterMeans<'a> {
    pub fn new(places: &'a ClusterPlaces, grid: &ValueGrid) -> Self {
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
                ClusterPlace::Shares => {
                    self.shares.extend_from_slice(&mean_delta[run.clone()]);
                    RunStep::Set
                }
                ClusterPlace::Common => RunStep::Scaled { factor: 1.0, most: f64::MAX },
                ClusterPlace::Of(cluster) => match self.shares.get(cluster) {
                    Some(share) if *share > 0.0 => {
                        RunStep::Scaled { factor: share.recip(), most: self.mean_max }
                    }
                    _ => RunStep::Keep,
                },
            };
            visit(run, &step);
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::TensorSpec;

    use super::*;

    fn places() -> ClusterPlaces {
        let clusters = Clusters { count: 2, tensors: Vec::new(), start_spread: 1.0 };
        let tensor = |name: &str, length| TensorSpec { name: name.to_owned(), shape: vec![length] };
        let tensors = [(tensor("body", 2), false), (tensor("weight", 3), true), (tensor("bias", 1), true)];
        ClusterPlaces::of(&clusters, &clusters.schema(&tensors))
    }

    /// Passes the mean in tiles of this length, and returns what each value changes by; `None` if it is kept.
    fn steps(mean: &[f64], tile: usize) -> Vec<Option<f64>> {
        let places = places();
        let mut means = ClusterMeans::new(&places, &ValueGrid::default());
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

    /// Three updates of the weights 1, 1 and 2. The first two have trained cluster 1 and changed its values by 2 and 4 on average
    /// 3, and the last one has trained cluster 2.
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
        let mut check = ClusterCheck::new(places());
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
}
