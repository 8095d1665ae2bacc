use super::{CommitScores, UpdateScore, scores};
use crate::measurement::Projections;

/// The lengths of n updates, and the angles between them and their aggregate, in float64.
#[derive(Clone, Debug)]
pub struct Alignments(Projections);

impl Alignments {
    /// Returns the alignments of `updates` updates before any tile was added.
    pub fn new(updates: usize) -> Self {
        Self(Projections::new(updates))
    }

    /// Adds one tile of the updates and of the aggregate, which has the tile's length. Tiles follow the rules of
    /// [`crate::Norms::add_tile`].
    pub fn add_tile(&mut self, rows: &[&[f32]], aggregate: &[f64]) {
        self.0.add_tile(rows, aggregate);
    }

    /// Returns the scores of the updates, whose ids come in the same order. Returns `None` for fewer than three updates, because two
    /// cannot tell which of them is unusual.
    pub fn scores<Id: Copy>(&self, ids: impl Iterator<Item = Id>) -> Option<CommitScores<Id>> {
        let norms: Vec<f64> = self.0.norms().collect();
        let cosines: Vec<f64> = self.0.cosines().collect();
        let scores: Vec<UpdateScore> = scores::of(&norms, &cosines)?;
        Some(CommitScores::of(ids.zip(scores), &cosines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected numbers come from these lines, with numpy 2.4.6, for six updates `x` and their mean:
    ///
    /// ```python
    /// m = x.mean(0); n = np.linalg.norm(x, axis=1); c = x @ m / n / np.linalg.norm(m)
    /// ratio = n / np.median(n); l = np.log(ratio)
    /// z = lambda d, floor: 0.6745 * d / max(floor, np.median(np.abs(d)))
    /// length = np.abs(z(l - np.median(l), np.log(1.05))); direction = np.maximum(0, z(np.median(c) - c, 0.05))
    /// ```
    #[test]
    fn scores_are_numpys() {
        let rows: [[f32; 4]; 6] = [
            [1.0, 2.0, 0.5, 0.0],
            [1.25, 1.75, 0.0, 0.5],
            [0.75, 2.25, 0.25, -0.25],
            [1.0, 1.5, -0.25, 0.25],
            [5.0, 9.0, 1.0, 0.0],
            [-1.0, -1.75, 0.0, 1.0],
        ];
        let mut alignments = Alignments::new(6);
        for tile in [0..1, 1..4] {
            let tile_rows = rows.each_ref().map(|row| &row[tile.clone()]);
            let mean = |index: usize| tile_rows.iter().map(|row| f64::from(row[index])).sum::<f64>() / 6.0;
            alignments.add_tile(&tile_rows, &(0..tile.len()).map(mean).collect::<Vec<f64>>());
        }
        let found = alignments.scores(0..6).expect("there are enough updates");
        assert_eq!(found.updates, 6);
        assert!((found.cosine_median - 0.9743031904459059).abs() < 1e-12);
        let order = found.most_unusual.iter().map(|(update, _)| *update);
        assert_eq!(order.collect::<Vec<_>>(), [5, 4, 3, 2, 1, 0]);
        let expected = [
            [1.00909166052992, 0.9870094775279441, 0.12569119417220384, 0.0],
            [0.972385054961085, 0.9790798407170783, 0.38656192147730584, 0.0],
            [1.0560509891431271, 0.9662359033483187, 0.7545112180880702, 0.10882770294645125],
            [0.809073271190091, 0.9695265401747333, 2.9283689477172627, 0.06443701215811806],
            [4.555571362222, 0.9959795768312805, 20.963376881335805, 0.0],
            [0.9909083394700802, -0.8490975298207298, 0.12569119417220384, 24.597675716396914],
        ];
        for (update, score) in &found.most_unusual {
            let UpdateScore { norm_ratio, cosine, length_score, direction_score } = *score;
            let numbers = [norm_ratio, cosine, length_score, direction_score];
            // Scores are kept in thousandths.
            let kept = expected[*update].map(|number: f64| (number * 1e3).round() / 1e3);
            let is_near = numbers.iter().zip(kept).all(|(one, other)| (one - other).abs() < 1e-9);
            assert!(is_near && score.is_unusual() == (*update > 3), "{update}: {score:?}");
        }
    }

    #[test]
    fn few_updates_have_no_scores_and_zeros_have_defined_ones() {
        assert!(Alignments::new(2).scores(0..2).is_none());
        let mut alignments = Alignments::new(3);
        alignments.add_tile(&[&[0.0], &[0.0], &[4.0]], &[0.0]);
        let found = alignments.scores(0..3).expect("there are enough updates");
        assert!(found.most_unusual.iter().all(|(_, score)| score.score().is_finite()), "{found:?}");
        assert_eq!(found.most_unusual[0].0, 2);
    }
}
