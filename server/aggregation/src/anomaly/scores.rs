use serde::{Deserialize, Serialize};

use crate::measurement::median;

/// A score above this is unusual. It is the limit of Iglewicz and Hoaglin 1993, "How to detect and handle outliers".
pub const UNUSUAL: f64 = 3.5;

/// The quotient of the median absolute deviation and the standard deviation of a normal distribution.
const NORMAL: f64 = 0.6745;
/// The least number of updates with scores.
const UPDATES_MIN: usize = 3;
/// The number of scores that are kept. The most unusual updates keep theirs.
const KEPT_MAX: usize = 50;
/// The largest ratio of two norms, and the largest score.
const MOST: f64 = 1e6;
/// The least deviation of the lengths: 5 %. Updates that differ by less are alike.
const LENGTHS_DIFFER: f64 = 0.05;
/// The least deviation of the cosines.
const COSINES_DIFFER: f64 = 0.05;

/// The difference of one update from the others of its commit.
///
/// Both scores are modified z-scores (Iglewicz and Hoaglin 1993): 0.6745·(x − median) / MAD, where MAD is the median absolute
/// deviation. So they stay meaningful while fewer than half of the updates are unusual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 4]", into = "[f64; 4]")]
pub struct UpdateScore {
    /// The L2 norm, in multiples of the median norm.
    pub norm_ratio: f64,
    /// The cosine of the angle between the update and the aggregate, in [−1, 1].
    pub cosine: f64,
    /// The score of the length, from the logarithms of the norms. Short updates score like long ones.
    pub length_score: f64,
    /// The score of the direction. Only a cosine below the median scores.
    pub direction_score: f64,
}

impl UpdateScore {
    /// Returns the larger of both scores.
    pub fn score(&self) -> f64 {
        self.length_score.max(self.direction_score)
    }

    /// Returns whether the update is unusual among the others.
    pub fn is_unusual(&self) -> bool {
        self.score() > UNUSUAL
    }

    /// Explains the score in a sentence, for example "4.1 times the median norm".
    pub fn explanation(&self, cosine_median: f64) -> String {
        let Self { norm_ratio, cosine, .. } = self;
        if !self.is_unusual() {
            "its length and direction are like those of the others".into()
        } else if self.length_score >= self.direction_score {
            format!("{norm_ratio:.0$} times the median norm", decimals(*norm_ratio))
        } else {
            let against =
                if *cosine < 0.0 { "it points against the aggregate" } else { "it points elsewhere" };
            format!(
                "{against}: the cosine is {cosine:.2}, and the median of all updates is {cosine_median:.2}"
            )
        }
    }
}

fn decimals(ratio: f64) -> usize {
    match ratio {
        ratio if ratio < 0.1 => 3,
        ratio if ratio < 10.0 => 1,
        _ => 0,
    }
}

impl From<[f64; 4]> for UpdateScore {
    fn from([norm_ratio, cosine, length_score, direction_score]: [f64; 4]) -> Self {
        Self { norm_ratio, cosine, length_score, direction_score }
    }
}

/// Rounds to a thousandth, so that a stored score is short.
impl From<UpdateScore> for [f64; 4] {
    fn from(score: UpdateScore) -> Self {
        [score.norm_ratio, score.cosine, score.length_score, score.direction_score]
            .map(|value| (value * 1e3).round() / 1e3)
    }
}

/// The scores of a commit's updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitScores<Id> {
    /// The number of updates that were scored.
    pub updates: u64,
    /// The number of unusual updates.
    pub unusual: u64,
    /// The median of the cosines.
    pub cosine_median: f64,
    /// The updates with the largest scores, the largest first: at most 50.
    pub most_unusual: Vec<(Id, UpdateScore)>,
}

impl<Id: Copy> CommitScores<Id> {
    /// Keeps the largest scores. Among equal ones, the first counts.
    pub(super) fn of(scores: impl Iterator<Item = (Id, UpdateScore)>, cosines: &[f64]) -> Self {
        // Count the scores as they are stored.
        let stored = |score: UpdateScore| UpdateScore::from(<[f64; 4]>::from(score));
        let mut most_unusual: Vec<(Id, UpdateScore)> =
            scores.map(|(id, score)| (id, stored(score))).collect();
        let unusual = most_unusual.iter().filter(|(_, score)| score.is_unusual()).count() as u64;
        let updates = most_unusual.len() as u64;
        most_unusual.sort_by(|one, other| other.1.score().total_cmp(&one.1.score()));
        most_unusual.truncate(KEPT_MAX);
        Self { updates, unusual, cosine_median: median(cosines.iter().copied()), most_unusual }
    }
}

/// Returns the score of each update, from its norm and its cosine; `None` if there are too few.
pub(super) fn of(norms: &[f64], cosines: &[f64]) -> Option<Vec<UpdateScore>> {
    if norms.len() < UPDATES_MIN {
        return None;
    }
    let median_norm = median(norms.iter().copied());
    let ratio = |norm: &f64| {
        let ratio = if *norm == median_norm { 1.0 } else { norm / median_norm };
        if ratio.is_nan() { MOST } else { ratio.clamp(1.0 / MOST, MOST) }
    };
    let ratios: Vec<f64> = norms.iter().map(ratio).collect();
    let lengths: Vec<f64> = ratios.iter().map(|ratio| libm::log(*ratio)).collect();
    let lengths = modified_z(&lengths, libm::log1p(LENGTHS_DIFFER));
    let directions = modified_z(cosines, COSINES_DIFFER);
    let scores = ratios.into_iter().zip(cosines).zip(lengths.into_iter().zip(directions));
    let score = |((norm_ratio, cosine), (length, direction)): ((f64, &f64), (f64, f64))| UpdateScore {
        norm_ratio,
        cosine: *cosine,
        length_score: length.abs().min(MOST),
        direction_score: (-direction).clamp(0.0, MOST),
    };
    Some(scores.map(score).collect())
}

/// Returns the modified z-score of each value. `least` is the least median absolute deviation that counts.
fn modified_z(values: &[f64], least: f64) -> Vec<f64> {
    let middle = median(values.iter().copied());
    let deviation = median(values.iter().map(|value| (value - middle).abs())).max(least);
    values.iter().map(|value| NORMAL * (value - middle) / deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(norm_ratio: f64, cosine: f64, length_score: f64, direction_score: f64) -> UpdateScore {
        UpdateScore { norm_ratio, cosine, length_score, direction_score }
    }

    #[test]
    fn a_sentence_says_what_is_unusual() {
        for (score, expected) in [
            (score(4.12, 0.9, 9.0, 0.0), "4.1 times the median norm"),
            (score(1234.5, 0.9, 9.0, 0.0), "1234 times the median norm"),
            (score(0.0123, 0.9, 9.0, 4.0), "0.012 times the median norm"),
            (
                score(1.0, -0.31, 0.0, 5.0),
                "it points against the aggregate: the cosine is -0.31, and the median of all updates is 0.71",
            ),
            (
                score(1.0, 0.1, 0.0, 3.6),
                "it points elsewhere: the cosine is 0.10, and the median of all updates is 0.71",
            ),
            (score(1.2, 0.6, 3.5, 1.0), "its length and direction are like those of the others"),
        ] {
            assert_eq!(score.explanation(0.71), expected);
        }
    }

    #[test]
    fn what_is_stored_is_short_and_bounded() {
        let scores = of(&(1..=1000).map(f64::from).collect::<Vec<_>>(), &[0.123_456_789; 1000]).unwrap();
        let kept = CommitScores::of((0..1000u32).zip(scores), &[0.5; 1000]);
        assert_eq!((kept.updates, kept.most_unusual.len()), (1000, 50));
        let text = serde_json::to_string(&kept).unwrap();
        assert!(text.len() < 50 * 40, "{text}");
        let read: CommitScores<u32> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.most_unusual[0].1.cosine, 0.123);
        assert!(kept.most_unusual.is_sorted_by(|one, other| one.1.score() >= other.1.score()));
    }

    #[test]
    fn alike_updates_are_usual_and_strange_norms_are_defined() {
        let found = of(&[1.0, 1.02, 0.99, 1.01], &[0.99, 0.98, 0.97, 0.99]).unwrap();
        assert!(found.iter().all(|score| !score.is_unusual()), "{found:?}");
        let found = of(&[f64::INFINITY, 0.0, 1.0, 1.0, 1.0], &[0.5; 5]).unwrap();
        let ratios: Vec<f64> = found.iter().map(|score| score.norm_ratio).collect();
        assert_eq!(ratios, [1e6, 1e-6, 1.0, 1.0, 1.0]);
        let unusual: Vec<bool> = found.iter().map(UpdateScore::is_unusual).collect();
        assert_eq!(unusual, [true, true, false, false, false]);
    }
}
