use folkmoot_protocol::{limits::COUNT_MAX, update::sums::MetricSums};

use super::float_sum::FloatSum;

/// Adds the sums of several clients, in any order.
///
/// Counts add up exactly and saturate at [`COUNT_MAX`]. Sums of values are added exactly and rounded once, so neither
/// depends on the order. Each client's own sums of values carry the rounding of its double precision.
#[derive(Clone, Debug, Default)]
pub struct EvaluationSum {
    total: Option<Total>,
    is_mixed: bool,
}

#[derive(Clone, Debug)]
enum Total {
    Classes { classes: u64, counts: Vec<u64> },
    Values(Vec<FloatSum>),
}

impl EvaluationSum {
    /// Adds the sums of a client.
    pub fn add(&mut self, sums: &MetricSums) {
        let total = self.total.get_or_insert_with(|| match sums {
            MetricSums::Classes { classes, counts } => {
                Total::Classes { classes: *classes, counts: vec![0; counts.len()] }
            }
            MetricSums::Values { sums } => Total::Values(vec![FloatSum::default(); sums.len()]),
        });
        match (total, sums) {
            (Total::Classes { classes, counts }, MetricSums::Classes { classes: others, counts: more })
                if classes == others && counts.len() == more.len() =>
            {
                for (count, more) in counts.iter_mut().zip(more) {
                    *count = count.saturating_add(*more).min(COUNT_MAX);
                }
            }
            (Total::Values(totals), MetricSums::Values { sums }) if totals.len() == sums.len() => {
                totals.iter_mut().zip(sums).for_each(|(total, sum)| total.add(*sum));
            }
            _ => self.is_mixed = true,
        }
    }

    /// Returns the sum over all clients. Returns `None` without clients, or if their sums are not all of one shape.
    pub fn finish(&self) -> Option<MetricSums> {
        match self.total.as_ref().filter(|_| !self.is_mixed)? {
            Total::Classes { classes, counts } => {
                Some(MetricSums::Classes { classes: *classes, counts: counts.clone() })
            }
            Total::Values(totals) => {
                Some(MetricSums::Values { sums: totals.iter().map(FloatSum::value).collect() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(clients: &[MetricSums]) -> Option<MetricSums> {
        let mut sum = EvaluationSum::default();
        clients.iter().for_each(|client| sum.add(client));
        sum.finish()
    }

    #[test]
    fn counts_and_values_add_up_in_any_order() {
        let classes = |counts: &[u64]| MetricSums::Classes { classes: 3, counts: counts.to_vec() };
        let (one, other) = (classes(&[1, 0, 7]), classes(&[2, 5, COUNT_MAX]));
        assert_eq!(sum(&[one.clone(), other.clone()]), Some(classes(&[3, 5, COUNT_MAX])));
        assert_eq!(sum(&[other, one]), Some(classes(&[3, 5, COUNT_MAX])));
        let values = |sums: &[f64]| MetricSums::Values { sums: sums.to_vec() };
        let clients = [values(&[1e100, 1.0]), values(&[1.0, 2.0]), values(&[-1e100, 3.0])];
        assert_eq!(sum(&clients), Some(values(&[1.0, 6.0])));
    }

    #[test]
    fn sums_of_several_shapes_have_no_sum() {
        let classes = |classes, count| MetricSums::Classes { classes, counts: vec![1; count] };
        let values = |count| MetricSums::Values { sums: vec![1.0; count] };
        assert_eq!(sum(&[]), None);
        assert_eq!(sum(&[classes(3, 4), classes(4, 4)]), None);
        assert_eq!(sum(&[classes(3, 4), values(4), classes(3, 4)]), None);
        assert_eq!(sum(&[values(4), values(8)]), None);
    }
}
