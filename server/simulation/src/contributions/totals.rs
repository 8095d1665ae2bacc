use std::collections::BTreeMap;

use serde::Serialize;

use super::{Method, shapley::RoundValues};

/// The contributions of the clients over all rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Contributions {
    /// The name of the metric in whose units the values are.
    pub metric: String,
    /// True if larger values of the metric are better. Otherwise, values are in units of the negative metric, so that a
    /// positive value is always good.
    pub is_larger_better: bool,
    /// The number of rounds whose values come from all sets of their clients.
    pub exact_rounds: u64,
    /// The number of rounds whose values come from random orders of their clients.
    pub sampled_rounds: u64,
    /// The number of larger rounds that changed the metric by no more than the tolerance. Their clients get the Shapley value 0.
    pub truncated_rounds: u64,
    /// The number of rounds without values, because the metric of a set was not a finite number.
    pub left_out_rounds: u64,
    /// The number of models that were evaluated on the held-out examples.
    pub evaluations: u64,
    /// The sum over the rounds with values of the utility of all clients minus that of none. A version that was undone by a rollback
    /// counts, too.
    pub gain: f64,
    /// The part of the gain that the Shapley values do not divide. It comes from rounds that changed the metric too
    /// little, and from orders that ended early.
    pub undivided: f64,
    /// The clients that were in a round with values, from the largest Shapley value to the smallest.
    pub clients: Vec<ClientContribution>,
}

/// The contribution of a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientContribution {
    /// The number of the client in the world, counted from 0.
    pub client: usize,
    /// True if the world makes the client hostile.
    pub is_hostile: bool,
    /// The number of rounds with an update of the client.
    pub rounds: u64,
    /// The sum of its Shapley values. If it is negative, the client has hurt the model.
    pub shapley: f64,
    /// The sum over the rounds of what the metric would have lost without the client.
    pub leave_one_out: f64,
    /// The share of the sum of all Shapley values; `None` if the sum is not above 0.
    pub share: Option<f64>,
}

/// The sums so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    found: Contributions,
    clients: BTreeMap<usize, ClientContribution>,
}

impl Totals {
    pub(crate) fn new(metric: folkmoot_protocol::Metric) -> Self {
        let found = Contributions {
            metric: metric.name().into(),
            is_larger_better: metric.is_higher_better(),
            ..Contributions::default()
        };
        Self { found, clients: BTreeMap::new() }
    }

    /// Adds a round. `clients` are the clients of its values.
    pub(crate) fn add(&mut self, clients: &[usize], is_hostile: impl Fn(usize) -> bool, values: RoundValues) {
        self.found.evaluations += values.evaluations as u64;
        match values.method {
            Method::Exact => self.found.exact_rounds += 1,
            Method::Sampled => self.found.sampled_rounds += 1,
            Method::Truncated => self.found.truncated_rounds += 1,
            Method::LeftOut => {
                self.found.left_out_rounds += 1;
                return;
            }
        }
        self.found.gain += values.gain;
        for ((client, shapley), leave_one_out) in clients.iter().zip(values.shapley).zip(values.leave_one_out)
        {
            let entry = self.clients.entry(*client).or_insert_with(|| ClientContribution {
                client: *client,
                is_hostile: is_hostile(*client),
                rounds: 0,
                shapley: 0.0,
                leave_one_out: 0.0,
                share: None,
            });
            entry.rounds += 1;
            entry.shapley += shapley;
            entry.leave_one_out += leave_one_out;
        }
    }

    /// Returns the contributions.
    pub(crate) fn end(self) -> Contributions {
        let mut clients: Vec<ClientContribution> = self.clients.into_values().collect();
        let total: f64 = clients.iter().map(|client| client.shapley).sum();
        for client in &mut clients {
            client.share = (total > 0.0).then(|| client.shapley / total);
        }
        clients
            .sort_by(|one, other| other.shapley.total_cmp(&one.shapley).then(one.client.cmp(&other.client)));
        Contributions { clients, undivided: self.found.gain - total, ..self.found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(shapley: &[f64], method: Method) -> RoundValues {
        RoundValues {
            shapley: shapley.to_vec(),
            leave_one_out: shapley.iter().map(|value| value / 2.0).collect(),
            gain: shapley.iter().sum(),
            evaluations: 4,
            method,
        }
    }

    #[test]
    fn rounds_are_added_up_and_clients_are_ranked() {
        let mut totals = Totals::new(folkmoot_protocol::Metric::Accuracy);
        totals.add(&[5, 2], |client| client == 2, values(&[0.5, -0.25], Method::Exact));
        totals.add(&[7, 5], |_| false, values(&[0.25, 0.5], Method::Sampled));
        totals.add(&[9], |_| false, values(&[f64::NAN], Method::LeftOut));
        let found = totals.end();
        let ranked: Vec<_> = found.clients.iter().map(|one| (one.client, one.rounds, one.shapley)).collect();
        assert_eq!(ranked, [(5, 2, 1.0), (7, 1, 0.25), (2, 1, -0.25)]);
        let shares: Vec<_> = found.clients.iter().map(|one| one.share).collect();
        assert_eq!(shares, [Some(1.0), Some(0.25), Some(-0.25)], "of a sum of 1");
        assert_eq!((found.clients[2].is_hostile, found.clients[0].leave_one_out), (true, 0.5));
        assert_eq!((found.exact_rounds, found.sampled_rounds, found.left_out_rounds), (1, 1, 1));
        assert_eq!((found.evaluations, found.gain), (12, 1.0));
    }

    #[test]
    fn without_a_gain_there_are_no_shares() {
        let mut totals = Totals::new(folkmoot_protocol::Metric::Loss);
        totals.add(&[0, 1], |_| false, values(&[0.5, -0.75], Method::Exact));
        let found = totals.end();
        assert!(!found.is_larger_better && found.clients.iter().all(|one| one.share.is_none()));
    }
}
