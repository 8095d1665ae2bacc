//! Limits the share of a round that may come from one enrolment token.
//!
//! Anyone with a token can enrol many clients. The limit keeps them from becoming a whole cohort.

use std::{borrow::Cow, collections::BTreeMap};

use folkmoot_protocol::{
    ClientId,
    saturating::{to_length, to_whole},
};
use rand::Rng;

use super::{Draw, SelectionChoice, preference, uniform};
use crate::participation::Waiting;

/// The number of clients per enrolment token id. Clients without a known token are counted together under `None`,
/// because one token may have enrolled them all.
pub type TokenCounts = BTreeMap<Option<String>, u64>;

/// The rounding tolerance when a share becomes a count. Without it, 0.29 · 100.0 would be floored to 28.
const ROUNDING: f64 = 1e-9;

/// The limit on clients per enrolment token in a draw.
#[derive(Clone, Copy, Debug, Default)]
pub enum TokenBound<'a> {
    /// No limit.
    #[default]
    None,
    /// At most ⌊share · drawn⌋ of the drawn clients, and at least 1.
    OfDraw {
        /// The share, above 0 and at most 1.
        share: f64,
    },
    /// A fixed limit that includes clients already in the round.
    OfRound {
        /// The maximum number of clients per token.
        most: u64,
        /// The clients already in the round, by token.
        present: &'a TokenCounts,
    },
}

/// Returns the maximum number of clients, out of `clients`, from one token: ⌊share · clients⌋, and at least 1.
pub fn most_of_one_token(share: f64, clients: u64) -> u64 {
    to_whole((share * clients as f64 + ROUNDING).floor()).max(1)
}

impl TokenBound<'_> {
    /// Returns the maximum number of waiting clients that can be drawn, up to `count`.
    pub fn drawable(&self, waiting: &[Waiting], count: usize) -> usize {
        match self {
            Self::None => count.min(waiting.len()),
            Self::OfDraw { share } => Groups::of(waiting).largest(*share, count),
            Self::OfRound { .. } => {
                let room = |(token, size): (Option<&str>, u64)| size.min(self.room(token, waiting.len()));
                let all: u64 = counted(waiting).into_iter().map(room).sum();
                count.min(to_length(all))
            }
        }
    }

    /// Draws with `selection`, with no more clients per token than the limit allows.
    ///
    /// First it randomly removes each token's excess clients; the method draws from the rest. If the method draws
    /// fewer clients than requested, the share is enforced again on the smaller draw. If the clients are in an order of
    /// preference, it takes each whose token has a place left, in this order.
    pub fn draw(&self, selection: &SelectionChoice, draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<ClientId> {
        if let Self::None = self {
            return selection.draw(draw, rng);
        }
        let count = self.drawable(draw.waiting, draw.count);
        if draw.preferred.is_some() {
            return self.in_order(draw, count);
        }
        let waiting = self.left(draw.waiting, count, rng);
        let drawn = selection.draw(&Draw { waiting: &waiting, count, ..*draw }, rng);
        match self {
            Self::OfDraw { share } if drawn.len() != count => held_to(*share, drawn, &waiting),
            _ => drawn,
        }
    }

    /// Takes up to `count` clients in the order of preference.
    fn in_order(&self, draw: &Draw<'_>, count: usize) -> Vec<ClientId> {
        let tokens = counted(draw.waiting).into_keys();
        let mut rooms = tokens.map(|token| (token, self.room(token, count))).collect();
        let ordered = preference::order(draw).into_iter().map(|place| &draw.waiting[place]);
        let taken = ordered.filter(|client| take(&mut rooms, client)).take(count);
        let drawn: Vec<ClientId> = taken.map(|client| client.candidate.client_id).collect();
        match self {
            Self::OfDraw { share } if drawn.len() != count => held_to(*share, drawn, draw.waiting),
            _ => drawn,
        }
    }

    /// Returns the maximum number of clients of a token in a draw of `drawn` clients. For [`TokenBound::OfRound`],
    /// subtracts the token's clients that are already in the round.
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

    /// Randomly keeps as many clients of each token as the limit allows in a draw of `drawn` clients. The waiting
    /// order is preserved.
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

/// Uses up one place of the client's token. Returns `false` if the token has no place left.
fn take<'w>(rooms: &mut BTreeMap<Option<&'w str>, u64>, client: &'w Waiting) -> bool {
    let Some(room) = rooms.get_mut(&client.token.as_deref()).filter(|room| **room > 0) else { return false };
    *room -= 1;
    true
}

/// Keeps the largest subset of the drawn clients that satisfies the share, preferring those drawn first.
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

/// The numbers of waiting clients per token, in ascending order, with their prefix sums.
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

    /// Returns the number of clients that can be drawn if each token is limited to `most`.
    fn within(&self, most: u64) -> u64 {
        let whole = self.sizes.partition_point(|size| *size <= most);
        self.sums[whole] + most * (self.sizes.len() - whole) as u64
    }

    /// Returns the size of the largest cohort, up to `count`, in which no token exceeds its share.
    fn largest(&self, share: f64, count: usize) -> usize {
        let can = |cohort: &usize| {
            let cohort = *cohort as u64;
            self.within(most_of_one_token(share, cohort)) >= cohort
        };
        (1..=count).rev().find(can).unwrap_or(0)
    }
}
