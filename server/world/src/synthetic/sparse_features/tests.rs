use super::*;

#[test]
fn words_follow_zipfs_law_and_rare_words_name_their_class() {
    let set =
        SparseFeatures { words_per_example: 1, zipf_exponent: 1.0, vocabulary: 4, ..Default::default() };
    let made = set.make(1).unwrap();
    let Labels::Classes(classes) = made.examples.labels() else { panic!("classes were made") };
    let rows: Vec<&[f32]> = made.examples.features().chunks(set.features()).collect();
    for (word, share) in [12.0, 6.0, 4.0, 3.0].map(|share| share / 25.0).into_iter().enumerate() {
        let found = rows.iter().filter(|row| row[word] == 1.0).count() as f64 / rows.len() as f64;
        // The standard deviation of a share of 4000 draws is below 0.0079. The tolerance is five standard deviations; a
        // correct implementation fails once in two million runs.
        assert!((found - share).abs() < 0.04, "word {word}: {found}");
    }
    for (row, class) in rows.iter().zip(classes) {
        let rare = (4..row.len()).filter(|word| row[*word] == 1.0);
        let named: Vec<u32> = rare.map(|word| ((word - 4) / set.rare_words_per_class) as u32).collect();
        assert!(!named.is_empty() && named.len() <= 2 && named.iter().all(|named| named == class));
    }
}

/// Softmax regression in federated rounds with full participation and one local step per round. So results differ only
/// by the server's optimizer.
struct Federation {
    rows: Vec<Vec<usize>>,
    classes: Vec<usize>,
    width: usize,
    class_count: usize,
}

impl Federation {
    fn new(set: &SparseFeatures, data: &Dataset) -> Self {
        let Labels::Classes(classes) = data.examples.labels() else { panic!("classes were made") };
        let width = set.features();
        let words = |row: &[f32]| (0..width).filter(|word| row[*word] != 0.0).collect();
        Self {
            rows: data.examples.features().chunks(width).map(words).collect(),
            classes: classes.iter().map(|class| *class as usize).collect(),
            width,
            class_count: set.classes as usize,
        }
    }

    fn probabilities(&self, weights: &[f64], row: &[usize]) -> Vec<f64> {
        let score = |class: usize| row.iter().map(|word| weights[class * self.width + word]).sum::<f64>();
        let scores: Vec<f64> = (0..self.class_count).map(score).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        let total: f64 = powers.iter().sum();
        powers.iter().map(|power| power / total).collect()
    }

    /// Returns the mean of the clients' deltas. Each client takes one step of gradient descent on its own examples.
    fn mean_delta(&self, weights: &[f64], rate: f64) -> Vec<f64> {
        let mut delta = vec![0.0; weights.len()];
        for (row, right) in self.rows.iter().zip(&self.classes) {
            for (class, probability) in self.probabilities(weights, row).into_iter().enumerate() {
                let error = f64::from(u8::from(class == *right)) - probability;
                for word in row {
                    delta[class * self.width + word] += rate * error / self.rows.len() as f64;
                }
            }
        }
        delta
    }

    fn accuracy(&self, weights: &[f64]) -> f64 {
        let right = |(row, class): (&Vec<usize>, &usize)| {
            super::super::largest(&self.probabilities(weights, row)) == *class
        };
        self.rows.iter().zip(&self.classes).filter(|pair| right(*pair)).count() as f64
            / self.rows.len() as f64
    }

    fn fed_avg(&self, rate: f64, rounds: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.width * self.class_count];
        for _ in 0..rounds {
            let delta = self.mean_delta(&weights, rate);
            weights.iter_mut().zip(delta).for_each(|(weight, delta)| *weight += delta);
        }
        weights
    }

    /// Runs FedAdagrad (Reddi et al. 2021, algorithm 2).
    fn fed_adagrad(&self, rate: f64, rounds: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.width * self.class_count];
        let mut squares = vec![0.0; weights.len()];
        for _ in 0..rounds {
            let delta = self.mean_delta(&weights, 1.0);
            for ((weight, square), delta) in weights.iter_mut().zip(&mut squares).zip(delta) {
                *square += delta * delta;
                *weight += rate * delta / (f64::sqrt(*square) + 1e-4);
            }
        }
        weights
    }
}

#[test]
fn an_adaptive_server_optimizer_beats_fed_avg_at_any_learning_rate() {
    let set = SparseFeatures { clients: 30, ..SparseFeatures::default() };
    let data = set.make(11).unwrap().hold_out(0.25, 1).unwrap();
    let (training, held_out) = (Federation::new(&set, &data.training), Federation::new(&set, &data.held_out));
    let best = |accuracies: Vec<f64>| accuracies.into_iter().fold(0.0, f64::max);
    let rounds = 15;
    let plain = best(
        [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
            .map(|rate| held_out.accuracy(&training.fed_avg(rate, rounds)))
            .to_vec(),
    );
    let adaptive = best(
        [0.03, 0.1, 0.3, 1.0].map(|rate| held_out.accuracy(&training.fed_adagrad(rate, rounds))).to_vec(),
    );
    assert!(adaptive > plain + 0.1, "adaptive {adaptive}, plain {plain}");
}
