use folkmoot_protocol::secure::{SecureTerms, SecureTermsFault, Threat};

use crate::tails::{LogFactorials, Urn};

/// The accepted probability, in bits, that some client's secrets are exposed or the honest clients fall apart into groups.
const SECURITY_BITS: f64 = 40.0;
/// The accepted probability, in bits, that more drop-outs than assumed hit the neighbours of one client, so that the round
/// is lost.
const CORRECTNESS_BITS: f64 = 30.0;
/// With a threshold of 1, a share would be the secret itself.
const THRESHOLD_MIN: u64 = 2;
/// The smallest number of accusers that prove a fault.
const ACCUSERS_MIN: u64 = 2;
/// A margin for logarithms that differ in the last bit between platforms, so that all compute the same graph.
const MARGIN_BITS: f64 = 1e-6;

/// The degree of the masking graph and the threshold of the secret sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The number of neighbours of each member.
    pub degree: u32,
    /// The number of neighbours that together recover a secret.
    pub threshold: u32,
}

/// No degree and threshold satisfy the terms.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ParametersError {
    /// The terms are invalid.
    #[error(transparent)]
    Terms(#[from] SecureTermsFault),
    /// Too many clients are assumed to collude or to drop out.
    #[error(
        "{members} members cannot tolerate {corrupt} colluding and {dropout} dropped members with this threat; assume smaller \
         shares, or use a larger cohort"
    )]
    Impossible {
        /// The number of members.
        members: u64,
        /// The number of members that collude.
        corrupt: u64,
        /// The number of members that drop out.
        dropout: u64,
    },
}

impl Parameters {
    /// Computes the smallest graph for `members` members that holds these three conditions (Bell et al. 2020, section 3.3),
    /// each for all members together:
    ///
    /// - the colluding neighbours of a member do not reach the threshold. If the coordinator is malicious, they do not reach
    ///   it twice: 2 · threshold > degree + colluding neighbours (probability of failure 2^-40);
    /// - the honest survivors stay connected (2^-40);
    /// - the surviving neighbours of a member reach the threshold (2^-30).
    ///
    /// If no sparse graph does, every member is a neighbour of every other.
    ///
    /// # Errors
    /// [`ParametersError`] if the terms are invalid, or if no threshold satisfies them.
    pub fn of(terms: &SecureTerms, members: u64) -> Result<Self, ParametersError> {
        terms.check()?;
        let search = Search {
            members,
            corrupt: count(members, terms.corrupt_share),
            dropout: count(members, terms.dropout_share),
            lost_share: terms.corrupt_share + terms.dropout_share,
            threat: terms.threat,
        };
        let impossible =
            || ParametersError::Impossible { members, corrupt: search.corrupt, dropout: search.dropout };
        if members < 3 || search.corrupt + search.dropout >= members {
            return Err(impossible());
        }
        search.sparse().or_else(|| search.full()).ok_or_else(impossible)
    }
}

/// Returns the smallest number of survivors of a roster: all but the assumed share of drop-outs.
pub(crate) fn tolerated(terms: &SecureTerms, members: u64) -> u64 {
    members.saturating_sub(count(members, terms.dropout_share))
}

/// Returns the number of neighbours that must accuse a member until one of them is honest, if at most the assumed share of the
/// members is dishonest. Members of a sparse graph can have more dishonest neighbours than that share, with a probability of
/// 2^-40 for any of them. A single accusation never proves anything.
pub(crate) fn accusers_for_proof(terms: &SecureTerms, members: u64, parameters: Parameters) -> u32 {
    let corrupt = count(members, terms.corrupt_share);
    let degree = u64::from(parameters.degree);
    let least = if degree + 1 >= members {
        corrupt + 1
    } else {
        let logs = LogFactorials::new(members);
        let others = members - 1;
        let urn = Urn { total: others, marked: corrupt.min(others), draws: degree };
        let union = (members as f64).log2();
        let are_enough = |least: &u64| logs.at_least(urn, *least) + union <= -SECURITY_BITS;
        (1..=degree).find(are_enough).unwrap_or(degree + 1)
    };
    least.max(ACCUSERS_MIN) as u32
}

/// The number of members that a share stands for, rounded up.
pub(crate) fn count(members: u64, share: f64) -> u64 {
    (members as f64 * share).ceil() as u64
}

struct Search {
    members: u64,
    corrupt: u64,
    dropout: u64,
    lost_share: f64,
    threat: Threat,
}

impl Search {
    fn sparse(&self) -> Option<Parameters> {
        let logs = LogFactorials::new(self.members);
        let halves: Vec<u64> = (1..=(self.members - 1) / 2).collect();
        let first = halves.partition_point(|half| self.thresholds(&logs, 2 * half).is_none());
        let degree = 2 * halves.get(first)?;
        if degree + 1 >= self.members {
            return None;
        }
        let (smallest, largest) = self.thresholds(&logs, degree)?;
        Some(Parameters { degree: degree as u32, threshold: ((smallest + largest) / 2) as u32 })
    }

    /// Returns the smallest and the largest valid threshold for this degree.
    fn thresholds(&self, logs: &LogFactorials, degree: u64) -> Option<(u64, u64)> {
        let union = (self.members as f64).log2();
        if union + (degree as f64 / 2.0) * self.lost_share.log2() > -SECURITY_BITS - MARGIN_BITS {
            return None;
        }
        let others = self.members - 1;
        let corrupt = Urn { total: others, marked: self.corrupt.min(others), draws: degree };
        let is_safe = |threshold: u64| {
            let exposing = match self.threat {
                Threat::HonestButCurious => threshold,
                Threat::Malicious => (2 * threshold).saturating_sub(degree),
            };
            logs.at_least(corrupt, exposing) + union <= -SECURITY_BITS - MARGIN_BITS
        };
        let alive = Urn { total: others, marked: others - self.dropout.min(others), draws: degree };
        let is_correct =
            |threshold: u64| logs.at_most(alive, threshold - 1) + union <= -CORRECTNESS_BITS - MARGIN_BITS;
        let thresholds: Vec<u64> = (THRESHOLD_MIN..=degree).collect();
        let smallest = thresholds.partition_point(|threshold| !is_safe(*threshold)) as u64 + THRESHOLD_MIN;
        let largest =
            thresholds.partition_point(|threshold| is_correct(*threshold)) as u64 + THRESHOLD_MIN - 1;
        (smallest <= largest).then_some((smallest, largest))
    }

    /// The full graph, where the numbers of colluding and dropped neighbours are known exactly.
    fn full(&self) -> Option<Parameters> {
        let degree = self.members - 1;
        let smallest = match self.threat {
            Threat::HonestButCurious => self.corrupt + 1,
            Threat::Malicious => (degree + self.corrupt) / 2 + 1,
        };
        let smallest = smallest.max(THRESHOLD_MIN);
        let largest = degree.checked_sub(self.dropout)?;
        let threshold = (degree / 2 + 1).clamp(smallest, largest.max(smallest));
        (threshold <= largest).then_some(Parameters { degree: degree as u32, threshold: threshold as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(threat: Threat, corrupt_share: f64, dropout_share: f64) -> SecureTerms {
        SecureTerms {
            cohort_min: 3,
            cohort_max: 10_000,
            corrupt_share,
            dropout_share,
            threat,
            is_weighted: false,
            noise: None,
        }
    }

    /// Degrees and thresholds that were computed independently, from hypergeometric tails: members, share that colludes,
    /// share that drops out, smallest degree, smallest and largest threshold.
    #[test]
    fn degrees_and_thresholds_agree_with_an_independent_calculation() {
        use Threat::{HonestButCurious, Malicious};
        for (threat, members, corrupt, dropout, degree, smallest, largest) in [
            (HonestButCurious, 100, 0.05, 0.05, 30, 6, 25),
            (HonestButCurious, 300, 0.1, 0.05, 36, 21, 23),
            (HonestButCurious, 300, 0.1, 0.3, 74, 27, 27),
            (HonestButCurious, 1000, 0.1, 0.1, 52, 28, 28),
            (HonestButCurious, 1000, 0.2, 0.2, 112, 58, 58),
            (HonestButCurious, 3000, 0.1, 0.05, 46, 27, 28),
            (HonestButCurious, 3000, 0.1, 0.3, 116, 44, 44),
            (Malicious, 300, 0.1, 0.05, 52, 38, 38),
            (Malicious, 300, 0.1, 0.3, 198, 115, 115),
            (Malicious, 1000, 0.1, 0.1, 114, 78, 78),
            (Malicious, 3000, 0.1, 0.05, 86, 62, 62),
            (Malicious, 3000, 0.1, 0.3, 728, 431, 431),
        ] {
            let found = Parameters::of(&terms(threat, corrupt, dropout), members).unwrap();
            let row = format!("{threat:?} {members} {corrupt} {dropout}: {found:?}");
            assert!(u64::from(found.degree).abs_diff(degree) <= 2, "{row}");
            let about = smallest - 1..=largest + 1;
            assert!(about.contains(&u64::from(found.threshold)), "{row}");
        }
    }

    #[test]
    fn small_cohorts_use_the_full_graph_and_tolerate_what_the_terms_assume() {
        for threat in [Threat::HonestButCurious, Threat::Malicious] {
            for members in (5..=30).filter(|members| threat == Threat::HonestButCurious || *members >= 10) {
                let terms = terms(threat, 0.1, 0.2);
                let Parameters { degree, threshold } = Parameters::of(&terms, members).unwrap();
                assert_eq!(u64::from(degree), members - 1);
                let (corrupt, dropout) = (count(members, 0.1), count(members, 0.2));
                assert!(u64::from(threshold) > corrupt && u64::from(threshold) <= members - 1 - dropout);
                if threat == Threat::Malicious {
                    assert!(2 * u64::from(threshold) > members - 1 + corrupt, "{members}");
                }
            }
        }
    }

    #[test]
    fn accusers_prove_a_fault_if_one_of_them_is_honest() {
        let proof = |corrupt_share, members| {
            let terms = terms(Threat::HonestButCurious, corrupt_share, 0.1);
            let parameters = Parameters::of(&terms, members).unwrap();
            (accusers_for_proof(&terms, members, parameters), parameters)
        };
        assert_eq!(proof(0.1, 10).0, 2, "of ten members, one may lie");
        assert_eq!(proof(0.0, 10).0, 2, "one accusation is never enough");
        assert_eq!(proof(0.25, 12).0, 4);
        let (accusers, parameters) = proof(0.1, 1000);
        assert!(parameters.degree < 999 && accusers <= parameters.threshold, "{accusers} {parameters:?}");
        assert!(
            u64::from(accusers) > 1000 / 10 * u64::from(parameters.degree) / 999,
            "more than the average"
        );
    }

    #[test]
    fn impossible_terms_are_refused() {
        let of = |terms, members| Parameters::of(&terms, members).unwrap_err().to_string();
        assert!(of(terms(Threat::Malicious, 0.3, 0.5), 10).contains("use a larger cohort"));
        assert!(of(terms(Threat::Malicious, 0.1, 0.1), 2).contains("2 members"));
        assert!(of(terms(Threat::Malicious, 1.0, 0.0), 10).contains("corrupt_share is 1"));
        let none = SecureTerms { cohort_min: 1, ..terms(Threat::Malicious, 0.1, 0.1) };
        assert!(of(none, 10).contains("at least 3"));
    }
}
