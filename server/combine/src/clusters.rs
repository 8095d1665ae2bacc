use folkmoot_protocol::{ClusterPlace, Clusters, TensorSchema};

/// The places of a task's clusters in its versions and updates.
///
/// Updates have 1 at the share of their cluster, and zeros at the places of the others. The mean of a share is therefore the part
/// p of the weight that the cluster's updates have, and the mean of the cluster's places is p times the mean of its updates. So
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
    /// The part of the weight that each cluster's updates have, as far as it is known.
    shares: Vec<f64>,
}

/// The next step of a run of values.
pub(super) enum RunStep {
    /// The values become the shares.
    Set,
    /// The values change by the mean of all updates, multiplied by this.
    Scaled(f64),
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
        Self { runs, count: clusters.len() }
    }
}

impl<'a> ClusterMeans<'a> {
    pub fn new(places: &'a ClusterPlaces) -> Self {
        Self { places, shares: Vec::with_capacity(places.count) }
    }

    /// Calls `visit` for each run of values within a tile that begins at `begin`, with the run's range within the tile. Tiles must
    /// come in order: the shares are at the beginning.
    pub fn for_each_run(
        &mut self,
        begin: usize,
        mean_delta: &[f64],
        mut visit: impl FnMut(std::ops::Range<usize>, &RunStep),
    ) {
        let mut done = 0;
        for (end, place) in &self.places.runs {
            let end = end.saturating_sub(begin).min(mean_delta.len());
            if end <= done {
                continue;
            }
            let step = match place {
                ClusterPlace::Shares => {
                    self.shares.extend_from_slice(&mean_delta[done..end]);
                    RunStep::Set
                }
                ClusterPlace::Common => RunStep::Scaled(1.0),
                ClusterPlace::Of(cluster) => match self.shares.get(*cluster) {
                    Some(share) if *share > 0.0 => RunStep::Scaled(share.recip()),
                    _ => RunStep::Keep,
                },
            };
            visit(done..end, &step);
            done = end;
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
        let (mut means, mut steps) = (ClusterMeans::new(&places), vec![None; mean.len()]);
        for (number, tile_mean) in mean.chunks(tile).enumerate() {
            means.for_each_run(number * tile, tile_mean, |run, step| {
                for index in run {
                    steps[number * tile + index] = match step {
                        RunStep::Set => Some(tile_mean[index]),
                        RunStep::Scaled(factor) => Some(tile_mean[index] * factor),
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
    fn a_cluster_without_an_update_stays_as_it_is() {
        let mean = [0.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0];
        for tile in 1..=mean.len() {
            let steps = steps(&mean, tile);
            assert_eq!(steps[4..8], [None; 4]);
            assert_eq!(steps[8..], [Some(4.0); 4]);
        }
    }
}
