//! The likelihood ratio attack, online and with Gaussian fits (Carlini et al. 2022, "Membership inference attacks from first
//! principles", algorithm 1).
//!
//! An example's confidence φ = log(p / (1 − p)) is about normal over models. Shadow models that have trained on the example,
//! and others that have not, give the two means. With few shadow models the variances come from all examples together
//! (section VI.A of the paper: "fixed variance").

/// The confidences of every example under every model, and whether the example was in the model's training.
pub struct Shadows {
    /// The confidence of an example under a model: `confidences[model][example]`.
    pub confidences: Vec<Vec<f64>>,
    /// The members of each model: `is_member[model][example]` is true if the model was trained on the example.
    pub is_member: Vec<Vec<bool>>,
}

/// The least variance, for models that all agree.
const VARIANCE_MIN: f64 = 1e-12;

impl Shadows {
    /// Returns, for each example, the log-likelihood ratio that the model `target` was trained on it, computed from the
    /// other models. `None` for an example that all other models, or none of them, were trained on.
    pub fn scores(&self, target: usize) -> Vec<Option<f64>> {
        let count = self.confidences[target].len();
        let members: Vec<Option<Side>> = (0..count).map(|example| self.side(target, example, true)).collect();
        let others: Vec<Option<Side>> = (0..count).map(|example| self.side(target, example, false)).collect();
        let variances = (pooled(&members), pooled(&others));
        let score = |example: usize| {
            let confidence = self.confidences[target][example];
            let (member, other) = (members[example].as_ref()?, others[example].as_ref()?);
            Some(
                log_density(confidence, member.mean, variances.0)
                    - log_density(confidence, other.mean, variances.1),
            )
        };
        (0..count).map(score).collect()
    }

    /// Returns the confidences of an example under the other models that have trained on it, or that have not.
    fn side(&self, target: usize, example: usize, is_member: bool) -> Option<Side> {
        let models = (0..self.confidences.len()).filter(|model| *model != target);
        let models = models.filter(|model| self.is_member[*model][example] == is_member);
        let values: Vec<f64> = models.map(|model| self.confidences[model][example]).collect();
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Side { mean, squares, freedom: values.len() - 1 })
    }
}

/// The mean over some models, and the sum of squared distances from it.
struct Side {
    mean: f64,
    squares: f64,
    freedom: usize,
}

/// Returns the variance within the examples, over all of them together.
fn pooled(sides: &[Option<Side>]) -> f64 {
    let (squares, freedom) = sides
        .iter()
        .flatten()
        .fold((0.0, 0usize), |(squares, freedom), side| (squares + side.squares, freedom + side.freedom));
    if freedom == 0 { 1.0 } else { (squares / freedom as f64).max(VARIANCE_MIN) }
}

/// Returns the logarithm of the density of a normal distribution, without the constant.
fn log_density(value: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((value - mean).powi(2) / variance + variance.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_the_log_likelihood_ratio() {
        // One example. Models 1 and 2 have trained on it, with confidences 3 and 5; models 3 and 4 have not, with 0 and 2.
        // The variances are 2 and 2. The target says 4: −½·(0 / 2) + ½·(9 / 2) = 2.25.
        let confidences = [4.0, 3.0, 5.0, 0.0, 2.0].map(|value| vec![value]).to_vec();
        let is_member = [true, true, true, false, false].map(|value| vec![value]).to_vec();
        let shadows = Shadows { confidences, is_member };
        let score = shadows.scores(0)[0].unwrap();
        assert!((score - 2.25).abs() < 1e-12, "{score}");
        // The same target, among models that were not trained on the example.
        let lone =
            Shadows { confidences: vec![vec![4.0], vec![0.0]], is_member: vec![vec![true], vec![false]] };
        assert_eq!(lone.scores(0), [None]);
    }
}
