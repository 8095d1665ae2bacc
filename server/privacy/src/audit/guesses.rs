use super::settings::AuditError;

/// The scores of all canaries in increasing order. The flag of each score is true if its canary was in.
pub(super) struct Scores(Vec<(f64, bool)>);

impl Scores {
    /// Merges and sorts the scores.
    ///
    /// # Errors
    /// [`AuditError::NotANumber`] if a score is NaN.
    pub fn new(of_those_in: &[f64], of_those_out: &[f64]) -> Result<Self, AuditError> {
        for (scores, side) in [(of_those_in, "in"), (of_those_out, "out")] {
            if let Some(index) = scores.iter().position(|score| score.is_nan()) {
                return Err(AuditError::NotANumber { index, side });
            }
        }
        let marked = |scores: &[f64], is_in: bool| -> Vec<(f64, bool)> {
            // Adding 0 turns −0 into 0, so that the two compare as the same score.
            scores.iter().map(|score| (score + 0.0, is_in)).collect()
        };
        let mut all = [marked(of_those_in, true), marked(of_those_out, false)].concat();
        all.sort_by(|first, second| first.0.total_cmp(&second.0));
        Ok(Self(all))
    }

    /// Guesses that the canaries with the highest scores are in and those with the lowest are out; each group is half
    /// of `guesses`. Returns the number of right guesses.
    ///
    /// The choice among equal scores must not depend on the truth. So the result is the minimum over all choices among
    /// equal scores.
    pub fn right(&self, guesses: u64) -> u64 {
        let guesses = (guesses as usize).min(self.0.len());
        let (lowest, highest) = (guesses / 2, guesses - guesses / 2);
        let as_in = fewest_right(self.0.iter().rev().copied(), highest, true);
        let as_out = fewest_right(self.0.iter().copied(), lowest, false);
        (as_in + as_out) as u64
    }
}

/// Counts the right guesses among the first `count` scores. Among scores equal to the last of these, wrong guesses are
/// counted first.
fn fewest_right(scores: impl Iterator<Item = (f64, bool)> + Clone, count: usize, guess: bool) -> usize {
    let Some((last, _)) = count.checked_sub(1).and_then(|last| scores.clone().nth(last)) else {
        return 0;
    };
    let before = scores.clone().take_while(|(score, _)| *score != last);
    let (taken, right) =
        before.fold((0, 0), |(taken, right), (_, truth)| (taken + 1, right + usize::from(truth == guess)));
    let wrong_ones = scores.filter(|(score, truth)| *score == last && *truth != guess).count();
    right + (count - taken).saturating_sub(wrong_ones)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_guessed() {
        let scores =
            Scores::new(&[5.0, 3.0, f64::INFINITY, -1.0], &[0.0, 4.0, -3.0, f64::NEG_INFINITY]).unwrap();
        // The canaries with the scores ∞, 5, 4, 3 are guessed to be in, and those with −∞, −3, −1, 0 to be out.
        assert_eq!([8, 7, 6, 5, 4, 3, 2, 1].map(|guesses| scores.right(guesses)), [6, 5, 4, 4, 4, 3, 2, 1]);
        assert_eq!(scores.right(0), 0);
    }

    #[test]
    fn equal_scores_are_counted_as_wrong() {
        let scores = Scores::new(&[1.0, 1.0, 0.0], &[1.0, -0.0]).unwrap();
        // Three canaries with the score 1 are guessed to be in; one of these guesses is wrong. The canary with the
        // score 0 is guessed to be out, which is wrong.
        assert_eq!([5, 4, 2].map(|guesses| scores.right(guesses)), [3, 2, 0]);
        let error = Scores::new(&[1.0], &[1.0, f64::NAN]).err().unwrap();
        assert!(error.to_string().starts_with("score 1 of the canaries that were out is NaN"), "{error}");
    }
}
