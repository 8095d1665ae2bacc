//! How much of a round may come by one enrolment token.
//!
//! Whoever has a token can enrol many clients by it. A bound on the share of one token keeps them from being a whole cohort.

use std::{borrow::Cow, collections::BTreeMap};

use folkmoot_protocol::ClientId;
use rand::Rng;

use super::{Draw, SelectionChoice, uniform};
use crate::{participation::Waiting, scheduling::SchedulingPolicy};

/// How many clients came by each token, by the token's id. Those of which no token is known are under `None`, together: one
/// token may have enrolled them all.
pub type TokenCounts = BTreeMap<Option<String>, u64>;

/// What is forgiven when a share is turned into a number, so that 0.29 of 100 is 29 although 0.29 · 100.0 is less.
const ROUNDING: f64 = 1e-9;

/// How many clients of a draw may come by one token.
#[derive(Clone, Copy, Debug, Default)]
pub enum TokenBound<'a> {
    /// Any number.
    #[default]
    None,
    /// ⌊share · drawn⌋, and at least 1, of the clients that are drawn.
    OfDraw {
        /// The share, above 0 and at most 1.
        share: f64,
    },
    /// So many, with those that are in the round already.
    OfRound {
        /// The most of one token.
        most: u64,
        /// Those that are in it.
        present: &'a TokenCounts,
    },
}

/// Returns how many of so many clients may come by one token: ⌊share · clients⌋, and at least 1.
pub fn most_of_one_token(share: f64, clients: u64) -> u64 {
    ((share * clients as f64 + ROUNDING).floor() as u64).max(1)
}

/// Returns of how many clients a share is taken in a flow: the updates of a commit, or what trains at the same time where that
/// is less, or where each update makes a commit.
pub fn clients_of_a_flow(policy: &dyn SchedulingPolicy) -> u64 {
    match policy.updates().1 {
        1 => policy.concurrency(),
        most => most.min(policy.concurrency()),
    }
}

impl TokenBound<'_> {
    /// Returns the most clients, up to `count`, that can be drawn from those that wait.
    pub fn drawable(&self, waiting: &[Waiting], count: usize) -> usize {
        match self {
            Self::None => count.min(waiting.len()),
            Self::OfDraw { share } => Groups::of(waiting).largest(*share, count),
            Self::OfRound { .. } => {
                let room = |(token, size): (Option<&str>, u64)| size.min(self.room(token, waiting.len()));
                let all: u64 = counted(waiting).into_iter().map(room).sum();
                count.min(all as usize)
            }
        }
    }

    /// Draws by `selection`, and never more of one token than the bound allows.
    ///
    /// Of each token's clients as many as may be drawn are left, by chance, and the method draws from these. A method that
    /// draws fewer than it was asked for is held to the share of what it drew.
    pub fn draw(&self, selection: &SelectionChoice, draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<ClientId> {
        if let Self::None = self {
            return selection.draw(draw, rng);
        }
        let count = self.drawable(draw.waiting, draw.count);
        let waiting = self.left(draw.waiting, count, rng);
        let drawn = selection.draw(&Draw { waiting: &waiting, count, ..*draw }, rng);
        match self {
            Self::OfDraw { share } if drawn.len() != count => held_to(*share, drawn, &waiting),
            _ => drawn,
        }
    }

    /// Returns how many clients of a token a draw of so many may have.
    fn room(&self, token: Option<&str>, drawn: usize) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::OfDraw { share } => most_of_one_token(*share, drawn as u64),
            Self::OfRound { most, present } => {
                let token = token.map(str::to_owned);
                most.saturating_sub(present.get(&token).copied().unwrap_or(0))
            }
        }
    }

    /// Leaves as many clients of each token as a draw of so many may have, in the order in which they wait.
    fn left<'w>(&self, waiting: &'w [Waiting], drawn: usize, rng: &mut impl Rng) -> Cow<'w, [Waiting]> {
        let mut rooms: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        let counts = counted(waiting);
        counts.keys().for_each(|token| {
            rooms.insert(*token, self.room(*token, drawn));
        });
        if counts.iter().all(|(token, count)| *count <= rooms[token]) {
            return Cow::Borrowed(waiting);
        }
        let order = uniform::draw((0..waiting.len()).collect(), waiting.len(), rng);
        let mut left: Vec<usize> =
            order.into_iter().filter(|place| take(&mut rooms, &waiting[*place])).collect();
        left.sort_unstable();
        Cow::Owned(left.into_iter().map(|place| waiting[place].clone()).collect())
    }
}

/// Takes a place of a client's token, if one is left.
fn take<'w>(rooms: &mut BTreeMap<Option<&'w str>, u64>, client: &'w Waiting) -> bool {
    let Some(room) = rooms.get_mut(&client.token.as_deref()).filter(|room| **room > 0) else { return false };
    *room -= 1;
    true
}

/// Leaves of those that were drawn the most that keep to the share, the first of each token.
fn held_to(share: f64, drawn: Vec<ClientId>, waiting: &[Waiting]) -> Vec<ClientId> {
    let by_id: BTreeMap<ClientId, &Waiting> =
        waiting.iter().map(|client| (client.candidate.client_id, client)).collect();
    let clients: Vec<Waiting> = drawn.iter().map(|id| by_id[id].clone()).collect();
    let count = Groups::of(&clients).largest(share, clients.len());
    let most = most_of_one_token(share, count as u64);
    let mut rooms: BTreeMap<Option<&str>, u64> =
        clients.iter().map(|client| (client.token.as_deref(), most)).collect();
    let kept = clients.iter().filter(|client| take(&mut rooms, client));
    kept.map(|client| client.candidate.client_id).take(count).collect()
}

fn counted(waiting: &[Waiting]) -> BTreeMap<Option<&str>, u64> {
    let mut counts = BTreeMap::new();
    for client in waiting {
        *counts.entry(client.token.as_deref()).or_insert(0) += 1;
    }
    counts
}

/// How many clients wait of each token: from the fewest to the most, and what the first of them are together.
struct Groups {
    sizes: Vec<u64>,
    sums: Vec<u64>,
}

impl Groups {
    fn of(waiting: &[Waiting]) -> Self {
        let mut sizes: Vec<u64> = counted(waiting).into_values().collect();
        sizes.sort_unstable();
        let sums = [0].into_iter().chain(sizes.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        }));
        Self { sums: sums.collect(), sizes }
    }

    /// Counts the clients if there are at most `most` of each token.
    fn within(&self, most: u64) -> u64 {
        let whole = self.sizes.partition_point(|size| *size <= most);
        self.sums[whole] + most * (self.sizes.len() - whole) as u64
    }

    /// Returns the largest cohort, up to `count`, in which no token has more than its share.
    fn largest(&self, share: f64, count: usize) -> usize {
        let can = |cohort: &usize| {
            let cohort = *cohort as u64;
            self.within(most_of_one_token(share, cohort)) >= cohort
        };
        (1..=count).rev().find(can).unwrap_or(0)
    }
}
