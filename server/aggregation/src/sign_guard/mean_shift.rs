//! Mean shift: clusters points around the maxima of their density, without a given number of clusters.
//!
//! Comaniciu and Meer 2002, "Mean shift: a robust approach toward feature space analysis", with a flat kernel, in the form of
//! scikit-learn's `MeanShift(cluster_all=False)`, where every point is a seed.

/// The dimension of a point.
const DIMENSIONS: usize = 3;
/// The maximum number of steps of a seed.
const STEPS_MAX: usize = 300;
/// A seed stops if its step is at most this share of the bandwidth.
const STOP: f64 = 1e-3;
/// The least bandwidth. It is far below the distance of two shares of signs, and above the rounding of the mean of equal points.
const BANDWIDTH_MIN: f64 = 1e-9;

/// A point, or the centre of a cluster.
pub(super) type Point = [f64; DIMENSIONS];

/// Returns for each point whether it belongs to the largest cluster. Among clusters of equal size, the densest counts.
pub(super) fn largest_cluster(points: &[Point]) -> Vec<bool> {
    let bandwidth = bandwidth(points).max(BANDWIDTH_MIN);
    let centres = centres(points, bandwidth);
    // The nearest centre, if it is within the bandwidth; among equally close ones, the first.
    let cluster_of = |point: &Point| {
        let distances = centres.iter().map(|centre| distance(point, centre)).enumerate();
        let nearest = distances.reduce(|best, next| if next.1 < best.1 { next } else { best });
        nearest.filter(|(_, distance)| *distance <= bandwidth).map(|(cluster, _)| cluster)
    };
    let clusters: Vec<Option<usize>> = points.iter().map(cluster_of).collect();
    let mut sizes = vec![0usize; centres.len()];
    clusters.iter().flatten().for_each(|cluster| sizes[*cluster] += 1);
    let most = sizes.iter().max().copied().unwrap_or(0);
    let largest = sizes.iter().position(|size| *size == most);
    clusters.into_iter().map(|cluster| cluster.is_some() && cluster == largest).collect()
}

/// Returns the mean over points of the distance to the ⌊n / 2⌋-th nearest point, in which a point is its own nearest. It is
/// scikit-learn's estimate with the quantile 0.5. Of two or three points, the second nearest counts, not the point itself.
fn bandwidth(points: &[Point]) -> f64 {
    let nearest = (points.len() / 2).max(2).min(points.len());
    let reach = |point: &Point| {
        let mut distances: Vec<f64> = points.iter().map(|other| distance(point, other)).collect();
        distances.sort_unstable_by(f64::total_cmp);
        distances[nearest - 1]
    };
    points.iter().map(reach).sum::<f64>() / points.len().max(1) as f64
}

/// Moves each point to a maximum of the density, and returns the maxima that are more than a bandwidth apart, the densest
/// first.
fn centres(points: &[Point], bandwidth: f64) -> Vec<Point> {
    let mut maxima: Vec<(usize, Point)> =
        points.iter().filter_map(|seed| maximum(points, *seed, bandwidth)).collect();
    let greater = |one: &Point, other: &Point| {
        let orders = one.iter().zip(other).map(|(one, other)| other.total_cmp(one));
        orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    };
    maxima.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| greater(&one.1, &other.1)));
    let mut centres: Vec<Point> = Vec::new();
    for (_, maximum) in maxima {
        if centres.iter().all(|centre| distance(centre, &maximum) > bandwidth) {
            centres.push(maximum);
        }
    }
    centres
}

/// Moves a seed to the mean of the points within the bandwidth, again and again. Returns the number of points there, and their
/// mean.
fn maximum(points: &[Point], seed: Point, bandwidth: f64) -> Option<(usize, Point)> {
    let mut centre = seed;
    let mut found = None;
    for _ in 0..STEPS_MAX {
        let within = points.iter().filter(|point| distance(point, &centre) <= bandwidth);
        let (mut count, mut sum) = (0usize, Point::default());
        for point in within {
            count += 1;
            sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
        }
        if count == 0 {
            return found;
        }
        let mean = sum.map(|sum| sum / count as f64);
        let step = distance(&mean, &centre);
        centre = mean;
        found = Some((count, mean));
        if step <= STOP * bandwidth {
            break;
        }
    }
    found
}

fn distance(one: &Point, other: &Point) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum::<f64>().sqrt()
}
