use std::collections::BTreeSet;

use folkmoot_protocol::{ClientId, Timestamp};

use super::Outstanding;
use crate::participation::{History, Waiting};

/// A client that takes part: it trains, it waits and may be drawn, or it was seen recently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The client's id.
    pub client_id: ClientId,
    /// The client's clock: the clock at which it joined, plus the number of its updates that were accepted since then.
    pub clock: u64,
    /// The clock up to which a dynamic bound lets the client start ahead of the others.
    pub granted_until: u64,
    /// When the client's last two updates were accepted, the older one first.
    pub pushed_at: [Option<Timestamp>; 2],
}

impl Member {
    /// Lists the clients that take part. A client takes part if it trains, if it waits and may be drawn, or if it was
    /// seen within `absence_milliseconds`. Waiting clients that may not be drawn hold nobody back.
    ///
    /// `histories` holds everyone who ever had an assignment. `pool` holds all waiting clients, and `eligible`
    /// those of them that may be drawn.
    pub fn list(
        histories: &[(ClientId, History)],
        outstanding: &[Outstanding],
        pool: &BTreeSet<ClientId>,
        eligible: &[Waiting],
        absence_milliseconds: u64,
        now: Timestamp,
    ) -> Vec<Member> {
        let training: BTreeSet<ClientId> = outstanding.iter().map(|one| one.client_id).collect();
        let eligible: BTreeSet<ClientId> = eligible.iter().map(|one| one.candidate.client_id).collect();
        let takes_part = |(client, history): &&(ClientId, History)| {
            let seen_at = history.pushed_at[1].max(history.recent.back().map(|start| start.at));
            let was_seen = seen_at.is_some_and(|at| now.milliseconds_since(at) < absence_milliseconds);
            training.contains(client) || eligible.contains(client) || !pool.contains(client) && was_seen
        };
        let member = |(client, history): &(ClientId, History)| Member {
            client_id: *client,
            clock: history.clock,
            granted_until: history.granted_until,
            pushed_at: history.pushed_at,
        };
        histories.iter().filter(takes_part).map(member).collect()
    }
}

/// The clocks of the clients that take part (Ho et al. 2013, "More effective distributed ML via a stale
/// synchronous parallel parameter server", section 2).
#[derive(Clone, Copy, Debug)]
pub struct Clocks<'a>(pub &'a [Member]);

impl Clocks<'_> {
    /// Returns the smallest clock, or 0 if there are no members.
    pub fn slowest(&self) -> u64 {
        self.0.iter().map(|member| member.clock).min().unwrap_or(0)
    }

    /// Returns the largest clock, or 0 if there are no members.
    pub fn fastest(&self) -> u64 {
        self.0.iter().map(|member| member.clock).max().unwrap_or(0)
    }

    /// Returns the member with this client id.
    pub fn of(&self, client: ClientId) -> Option<&Member> {
        self.0.iter().find(|member| member.client_id == client)
    }

    /// Returns the lead of a client: its clock minus the slowest clock. It is 0 for a client that is not a member,
    /// because such a client would start with the slowest clock.
    pub fn lead(&self, client: ClientId) -> u64 {
        self.of(client).map_or(0, |member| member.clock - self.slowest())
    }

    /// Returns the lag of a client: the fastest clock minus its own. It is 0 for a client that is not a member.
    pub fn lag(&self, client: ClientId) -> u64 {
        self.of(client).map_or(0, |member| self.fastest() - member.clock)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{client, some_facts, waiting},
        *,
    };

    #[test]
    fn who_takes_part_is_told_by_what_is_seen_of_it() {
        let seen = |number: u8, seconds: u64| {
            let mut history = History { clock: u64::from(number), ..History::default() };
            history.start(1, Timestamp(1_000_000 - seconds * 1000));
            (client(number), history)
        };
        // 0 trains; 1 waits and may be drawn; 2 waits and may not be drawn; 3 was seen recently; 4 was seen long
        // ago.
        let histories = [seen(0, 900), seen(1, 900), seen(2, 1), seen(3, 59), seen(4, 60)];
        let pool = [client(1), client(2)].into();
        let facts = some_facts(1, &[1]);
        let members = Member::list(&histories, facts.outstanding, &pool, &[waiting(1)], 60_000, facts.now);
        assert_eq!(members.iter().map(|member| member.clock).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!((Clocks(&members).slowest(), Clocks(&members).fastest()), (0, 3));
        assert_eq!((Clocks(&members).lead(client(3)), Clocks(&members).lag(client(1))), (3, 2));
        assert_eq!(Clocks(&members).lead(client(9)), 0, "a new client would start with the slowest");
    }
}
