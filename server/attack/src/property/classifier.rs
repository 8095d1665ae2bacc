//! The attacker's classifier of updates: ridge regression on labels of 1 and −1, in its dual form, because an update has many more values
//! than there are updates to learn from.

/// The strengths of the ridge that are tried, as shares of the mean squared length of an update.
const RIDGES: [f64; 7] = [1e-6, 1e-4, 1e-2, 0.1, 1.0, 10.0, 100.0];
/// A value that varies less than this, relative to its size, is left out.
const VARIATION_MIN: f64 = 1e-6;

/// A linear classifier: larger scores are guessed to have the property.
pub struct Classifier {
    means: Vec<f64>,
    scales: Vec<f64>,
    weights: Vec<f64>,
}

impl Classifier {
    /// Learns from updates of equal length, each with its truth. Chooses the strength of the ridge with the smallest
    /// squared error on updates that are left out one at a time, which has a closed form (Cawley and Talbot 2003,
    /// "Efficient leave-one-out cross-validation of kernel Fisher discriminant classifiers", equation 11). Returns
    /// `None` if no value distinguishes the updates.
    pub fn learn(updates: &[(Vec<f32>, bool)]) -> Option<Self> {
        Self::learn_scaled(updates, updates, 0.0)
    }

    /// Learns from updates before noise is added, for updates with noise. Values are scaled as those of the same updates with noise, and
    /// the ridge is at least the variance of the noise, which is the least squares solution over all draws of the noise.
    pub fn learn_before_noise(updates: &[(Vec<f32>, bool)], noised: &[(Vec<f32>, bool)]) -> Option<Self> {
        Self::learn_scaled(updates, noised, updates.len() as f64)
    }

    fn learn_scaled(
        updates: &[(Vec<f32>, bool)],
        scaled_as: &[(Vec<f32>, bool)],
        ridge_min: f64,
    ) -> Option<Self> {
        let width = updates.first()?.0.len();
        let (means, scales) = standard(scaled_as, width);
        let rows: Vec<Vec<f64>> =
            updates.iter().map(|(update, _)| standardised(update, &means, &scales)).collect();
        let labels: Vec<f64> = updates.iter().map(|(_, has)| if *has { 1.0 } else { -1.0 }).collect();
        let gram: Vec<Vec<f64>> =
            rows.iter().map(|one| rows.iter().map(|other| dot(one, other)).collect()).collect();
        let size = (0..rows.len()).map(|row| gram[row][row]).sum::<f64>() / rows.len() as f64;
        if size <= 0.0 {
            return None;
        }
        let fits = RIDGES.iter().filter_map(|ridge| {
            let inverse = inverse(&gram, (ridge * size).max(ridge_min))?;
            let factors: Vec<f64> = inverse.iter().map(|row| dot(row, &labels)).collect();
            let errors = factors.iter().enumerate().map(|(row, factor)| (factor / inverse[row][row]).powi(2));
            Some((errors.sum::<f64>(), factors))
        });
        let (_, factors) = fits.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let mut weights = vec![0.0; width];
        for (row, factor) in rows.iter().zip(factors) {
            weights.iter_mut().zip(row).for_each(|(weight, value)| *weight += factor * value);
        }
        Some(Self { means, scales, weights })
    }

    /// Returns the score of an update.
    pub fn score(&self, update: &[f32]) -> f64 {
        dot(&standardised(update, &self.means, &self.scales), &self.weights)
    }
}

/// Returns the mean of each value and the factor that makes its deviation 1; 0 for a value that does not vary.
fn standard(updates: &[(Vec<f32>, bool)], width: usize) -> (Vec<f64>, Vec<f64>) {
    let count = updates.len() as f64;
    let (mut means, mut squares) = (vec![0.0; width], vec![0.0; width]);
    for (update, _) in updates {
        means.iter_mut().zip(update).for_each(|(mean, value)| *mean += f64::from(*value) / count);
    }
    for (update, _) in updates {
        for ((square, value), mean) in squares.iter_mut().zip(update).zip(&means) {
            *square += (f64::from(*value) - mean).powi(2) / count;
        }
    }
    let scale = |(square, mean): (&f64, &f64)| {
        let deviation = f64::sqrt(*square);
        if deviation > VARIATION_MIN * mean.abs().max(f64::MIN_POSITIVE) { 1.0 / deviation } else { 0.0 }
    };
    let scales = squares.iter().zip(&means).map(scale).collect();
    (means, scales)
}

fn standardised(update: &[f32], means: &[f64], scales: &[f64]) -> Vec<f64> {
    let values = update.iter().zip(means).zip(scales);
    values.map(|((value, mean), scale)| (f64::from(*value) - mean) * scale).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Returns the inverse of a symmetric matrix with `ridge` added to its diagonal, by Gauss-Jordan elimination. The matrix is positive
/// definite, so the elimination needs no pivots; `None` if rounding made it singular.
fn inverse(matrix: &[Vec<f64>], ridge: f64) -> Option<Vec<Vec<f64>>> {
    let count = matrix.len();
    let mut rows: Vec<Vec<f64>> = matrix.to_vec();
    for (place, row) in rows.iter_mut().enumerate() {
        row[place] += ridge;
        row.extend((0..count).map(|column| f64::from(u8::from(column == place))));
    }
    for place in 0..count {
        let pivot = rows[place][place];
        if !pivot.is_finite() || pivot <= 0.0 {
            return None;
        }
        rows[place].iter_mut().for_each(|value| *value /= pivot);
        let base = rows[place].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != place) {
            let factor = row[place];
            row.iter_mut().zip(&base).for_each(|(value, base)| *value -= factor * base);
        }
    }
    Some(rows.into_iter().map(|row| row[count..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use folkmoot_simulation::chance::{Stream, standard_normal};

    use super::*;

    #[test]
    fn an_inverse_times_its_matrix_is_the_identity() {
        let matrix = [vec![4.0, 1.0, 0.5], vec![1.0, 3.0, -1.0], vec![0.5, -1.0, 2.0]];
        let found = inverse(&matrix, 0.5).unwrap();
        let value = |row: usize, column: usize| matrix[row][column] + if row == column { 0.5 } else { 0.0 };
        for row in 0..3 {
            for column in 0..3 {
                let product: f64 = (0..3).map(|inner| value(row, inner) * found[inner][column]).sum();
                assert!((product - f64::from(u8::from(row == column))).abs() < 1e-12, "{found:?}");
            }
        }
        assert_eq!(inverse(&[vec![0.0]], 0.0), None);
    }

    /// The closed form has the same errors as classifiers that have not seen the update.
    #[test]
    fn leaving_one_out_in_closed_form_is_learning_without_it() {
        let rows = [[1.0, 0.2], [0.8, -0.1], [-0.9, 0.3], [-1.2, 0.1], [0.1, 0.5]];
        let labels = [1.0, 1.0, -1.0, -1.0, 1.0];
        let gram = |chosen: &[usize]| -> Vec<Vec<f64>> {
            chosen
                .iter()
                .map(|one| chosen.iter().map(|other| dot(&rows[*one], &rows[*other])).collect())
                .collect()
        };
        let whole = inverse(&gram(&[0, 1, 2, 3, 4]), 0.3).unwrap();
        for left_out in 0..5 {
            let error = dot(&whole[left_out], &labels) / whole[left_out][left_out];
            let others: Vec<usize> = (0..5).filter(|row| *row != left_out).collect();
            let part = inverse(&gram(&others), 0.3).unwrap();
            let known: Vec<f64> = others.iter().map(|row| labels[*row]).collect();
            let guess: f64 = others
                .iter()
                .zip(&part)
                .map(|(row, inverse)| dot(inverse, &known) * dot(&rows[*row], &rows[left_out]))
                .sum();
            assert!((error - (labels[left_out] - guess)).abs() < 1e-12, "{error} and {guess}");
        }
    }

    #[test]
    fn shifted_values_among_many_are_found() {
        let mut rng = Stream::new(1, &[]);
        let mut draw = |has: bool| {
            let mut update: Vec<f32> = (0..200).map(|_| standard_normal(&mut rng) as f32).collect();
            update[100..130].iter_mut().for_each(|value| *value += if has { 2.0 } else { 0.0 });
            // A value that never varies carries no information.
            update[18] = 1.0;
            (update, has)
        };
        let known: Vec<_> = (0..80).map(|number| draw(number % 2 == 0)).collect();
        let classifier = Classifier::learn(&known).unwrap();
        let right = (0..80).filter(|number| {
            let (update, has) = draw(number % 2 == 0);
            (classifier.score(&update) > 0.0) == has
        });
        assert!(right.count() >= 60);
        assert!(Classifier::learn(&[(vec![1.0], true), (vec![1.0], false)]).is_none());
        assert!(Classifier::learn(&[]).is_none());
    }
}
