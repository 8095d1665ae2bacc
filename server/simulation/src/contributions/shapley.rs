use super::{ContributionSettings, coalition::Coalition, game::Game};
use crate::chance::{Stream, shuffle};

/// Passes end when this many orders change the values by less than this share (Ghorbani and Zou 2019, "Data Shapley: equitable valuation of
/// data for machine learning", appendix). The changes are added up before they are divided, because a value may be near 0.
const CHANGE_MAX: f64 = 0.05;
const ORDERS_OF_CHANGE: usize = 100;

/// The source of the values of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// From all sets of its clients.
    Exact,
    /// From random orders of its clients.
    Sampled,
    /// The round changed the metric by no more than the tolerance, so each client gets the Shapley value 0.
    Truncated,
    /// The metric of a set was not a finite number, so there are no values.
    LeftOut,
}

/// The values of the clients of a round, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoundValues {
    pub(crate) shapley: Vec<f64>,
    /// The utility with all clients minus the utility without this client.
    pub(crate) leave_one_out: Vec<f64>,
    /// The utility with all clients minus the utility without any.
    pub(crate) gain: f64,
    pub(crate) evaluations: usize,
    pub(crate) method: Method,
}

/// Computes the values of a round.
///
/// # Errors
/// Returns the error of the utility.
pub(crate) fn value_round<E>(
    count: usize,
    settings: &ContributionSettings,
    seed: u64,
    utility: impl FnMut(&[Coalition]) -> Result<Vec<f64>, E>,
) -> Result<RoundValues, E> {
    let mut game = Game::new(count, utility);
    let values = match count <= settings.exact_clients_max {
        true => exact(&mut game)?,
        false => sampled(&mut game, settings, seed)?,
    };
    Ok(match game.is_finite() {
        true => values,
        false => RoundValues { method: Method::LeftOut, ..values },
    })
}

/// φᵢ = Σ over the sets S without i of |S|!·(n − |S| − 1)!/n! · (v(S ∪ i) − v(S)) (Shapley 1953, "A value for n-person games").
fn exact<E, U: FnMut(&[Coalition]) -> Result<Vec<f64>, E>>(game: &mut Game<U>) -> Result<RoundValues, E> {
    let count = game.count;
    game.evaluate(Coalition::every(count))?;
    // |S|!·(n − |S| − 1)!/n! for each |S|: 1/n for the empty set, and then a factor from each size to the next.
    let mut shares = vec![1.0 / count.max(1) as f64; count];
    for size in 1..count {
        shares[size] = shares[size - 1] * size as f64 / (count - size) as f64;
    }
    let mut shapley = vec![0.0; count];
    for set in Coalition::every(count) {
        let before = game.value(&set);
        for (place, value) in shapley.iter_mut().enumerate().filter(|(place, _)| !set.contains(*place)) {
            *value += shares[set.len()] * (game.value(&set.clone().with(place)) - before);
        }
    }
    values(game, shapley, Method::Exact)
}

/// GTG-Shapley (Liu et al. 2022, "GTG-Shapley: efficient and accurate participant contribution evaluation in federated
/// learning", algorithm 1): a round that hardly changes the metric is left out, each client is first in the same number
/// of orders, and an order ends when the clients so far are as good as all clients.
fn sampled<E, U: FnMut(&[Coalition]) -> Result<Vec<f64>, E>>(
    game: &mut Game<U>,
    settings: &ContributionSettings,
    seed: u64,
) -> Result<RoundValues, E> {
    let count = game.count;
    let (none, all) = (Coalition::none(count), Coalition::all(count));
    game.evaluate([none.clone(), all.clone()])?;
    let gain = game.value(&all) - game.value(&none);
    if gain.abs() <= settings.tolerance {
        return values(game, vec![0.0; count], Method::Truncated);
    }
    let mut sums = vec![0.0; count];
    let mut means: Vec<Vec<f64>> = Vec::new();
    for pass in 0..settings.passes_max {
        let orders: Vec<Vec<usize>> = (0..count)
            .map(|first| order(count, first, &mut Stream::new(seed, &[pass as u64, first as u64])))
            .collect();
        add_marginals(game, &orders, settings.tolerance, &mut sums)?;
        let drawn = (count * (pass + 1)) as f64;
        means.push(sums.iter().map(|sum| sum / drawn).collect());
        if has_settled(&means) || !game.is_finite() {
            break;
        }
    }
    values(game, means.pop().unwrap_or_default(), Method::Sampled)
}

/// Returns whether the last orders have hardly changed the values, given those after each pass.
fn has_settled(means: &[Vec<f64>]) -> bool {
    let Some(last) = means.last() else { return false };
    let passes = ORDERS_OF_CHANGE.div_ceil(last.len().max(1));
    let Some(before) = means.len().checked_sub(passes + 1).map(|pass| &means[pass]) else { return false };
    let change: f64 = last.iter().zip(before).map(|(last, before)| (last - before).abs()).sum();
    change <= CHANGE_MAX * last.iter().map(|value| value.abs()).sum::<f64>()
}

/// Draws an order of the clients that begins with one of them.
fn order(count: usize, first: usize, rng: &mut Stream) -> Vec<usize> {
    let mut others: Vec<usize> = (0..count).filter(|place| *place != first).collect();
    shuffle(&mut others, rng);
    std::iter::once(first).chain(others).collect()
}

/// Adds the marginal contribution of each client in each order. The orders advance together, so that each step
/// evaluates the sets of all orders in one call.
fn add_marginals<E, U: FnMut(&[Coalition]) -> Result<Vec<f64>, E>>(
    game: &mut Game<U>,
    orders: &[Vec<usize>],
    tolerance: f64,
    sums: &mut [f64],
) -> Result<(), E> {
    let none = Coalition::none(game.count);
    let all = game.value(&Coalition::all(game.count));
    let mut running: Vec<(&Vec<usize>, Coalition, f64)> =
        orders.iter().map(|order| (order, none.clone(), game.value(&none))).collect();
    for step in 0..game.count {
        running.retain(|(_, _, value)| step == 0 || (all - value).abs() > tolerance);
        for (order, set, _) in &mut running {
            *set = set.clone().with(order[step]);
        }
        game.evaluate(running.iter().map(|(_, set, _)| set.clone()))?;
        for (order, set, value) in &mut running {
            let next = game.value(set);
            sums[order[step]] += next - *value;
            *value = next;
        }
    }
    Ok(())
}

fn values<E, U: FnMut(&[Coalition]) -> Result<Vec<f64>, E>>(
    game: &mut Game<U>,
    shapley: Vec<f64>,
    method: Method,
) -> Result<RoundValues, E> {
    let (none, all) = (Coalition::none(game.count), Coalition::all(game.count));
    let others: Vec<Coalition> = (0..game.count).map(|place| all.clone().without(place)).collect();
    game.evaluate(others.iter().cloned())?;
    let whole = game.value(&all);
    Ok(RoundValues {
        shapley,
        leave_one_out: others.iter().map(|others| whole - game.value(others)).collect(),
        gain: whole - game.value(&none),
        evaluations: game.evaluations(),
        method,
    })
}

#[cfg(test)]
mod tests;
