use folkmoot_protocol::{ClientId, Fault};
use serde::{Deserialize, Serialize};

use super::{
    AtBound, Clocks, CommitDecision, Correction, Facts, Flow, Outstanding, SchedulingPolicy,
    StaleSynchronous, Staleness, StalenessWeight,
    check::Check,
    clocks::Member,
    stale_synchronous::{constant, default_absence_seconds},
    synchronous::default_reporting_deadline_seconds,
};
use crate::participation::Waiting;

/// Dynamic stale synchronous parallel: like [`super::StaleSynchronous`], with an adaptive bound. A controller chooses
/// the bound of the fastest client, between `bound_min` and `bound_max`, to minimise the time that this client waits
/// (Zhao et al. 2019, "Dynamic stale synchronous parallel distributed training for deep learning", algorithms 1 and 2).
///
/// When the fastest client is more than `bound_min` ahead, the controller predicts the number r* of further steps after
/// which the client waits least. It grants these steps at once; each start uses one. When they are used up, the
/// controller decides again. A client without a grant waits until the slowest has moved.
///
/// There are two differences from the paper. First, the paper's lead is unbounded while predictions continue;
/// here no client starts that is more than `bound_max` ahead. Second, the controller decides about a waiting
/// client again with every push of the slowest, not only when the client is within `bound_min` again. So a
/// constantly slow client costs no more than under a fixed bound of `bound_max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DynamicStaleSynchronous {
    /// The lead that every client may have over the slowest: the paper's s_L.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [2])))]
    pub bound_min: u64,
    /// The lead that the fastest client may have if it saves waiting time: the paper's s_U.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [8])))]
    pub bound_max: u64,
    /// The behaviour at the bound.
    #[serde(default)]
    pub at_bound: AtBound,
    /// The number of clients that train at the same time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [200])))]
    pub concurrency: u64,
    /// The weight of updates from older versions.
    #[serde(default = "constant")]
    pub staleness_weight: StalenessWeight,
    /// The correction of updates from older versions.
    #[serde(default)]
    pub correction: Correction,
    /// Seconds after which a silent client no longer holds the others back.
    #[serde(default = "default_absence_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub absence_seconds: u64,
    /// Seconds until an assignment is dropped.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

/// The maximum number of extra steps that the controller considers.
const STEPS_AHEAD_MAX: u64 = 1000;

/// Predicts the number of extra steps, 0 to `steps_max`, with which the fastest client waits least for the slowest
/// (Zhao et al. 2019, algorithm 2).
///
/// Both clients are assumed to keep the pace of their last two pushes. The fastest client last pushed at `p` and pushes
/// every `i` milliseconds, so it would finish its `r`-th further step at `p + r·i`. The slowest client would finish its
/// `k`-th at `q + k·j`. The pair of steps that is closest in time wins; among equal pairs, the smallest `r`. Returns 0
/// if either client has pushed fewer than two updates.
pub fn extra_steps(fastest: &Member, slowest: &Member, steps_max: u64) -> u64 {
    let pace = |member: &Member| match member.pushed_at {
        [Some(before), Some(last)] => Some((last.0, last.milliseconds_since(before))),
        _ => None,
    };
    let (Some((fast_at, fast_interval)), Some((slow_at, slow_interval))) = (pace(fastest), pace(slowest))
    else {
        return 0;
    };
    let steps_max = steps_max.min(STEPS_AHEAD_MAX);
    let distance = |steps: u64| {
        let fast = fast_at.saturating_add(steps.saturating_mul(fast_interval));
        let slow = |k: u64| slow_at.saturating_add(k.saturating_mul(slow_interval));
        (1..=steps_max + 1).map(|k| slow(k).abs_diff(fast)).min().unwrap_or(u64::MAX)
    };
    (0..=steps_max).min_by_key(|steps| distance(*steps)).unwrap_or(0)
}

impl DynamicStaleSynchronous {
    /// Returns the number of steps beyond `bound_min` that this client may make from now on. 0 makes it wait.
    fn steps_left(&self, clocks: Clocks<'_>, member: &Member) -> u64 {
        let room = self.bound_max.saturating_add(1).saturating_sub(clocks.lead(member.client_id));
        let granted = member.granted_until.saturating_sub(member.clock);
        if granted > 0 {
            return granted.min(room);
        }
        let slowest = clocks.0.iter().min_by_key(|other| other.clock);
        match slowest {
            Some(slowest) if member.clock == clocks.fastest() => extra_steps(member, slowest, room),
            _ => 0,
        }
    }

    /// Returns the policy with the fixed bound `bound_max`. It decides everything except who may start.
    fn with_fixed_bound(&self) -> StaleSynchronous {
        StaleSynchronous {
            bound: self.bound_max,
            at_bound: self.at_bound,
            concurrency: self.concurrency,
            staleness_weight: self.staleness_weight,
            correction: self.correction,
            absence_seconds: self.absence_seconds,
            reporting_deadline_seconds: self.reporting_deadline_seconds,
        }
    }

    fn is_within_least(&self, clocks: Clocks<'_>, member: &Member) -> bool {
        clocks.lead(member.client_id) <= self.bound_min
    }
}

impl SchedulingPolicy for DynamicStaleSynchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        Check(faults).that(
            self.bound_min <= self.bound_max,
            "bound_max",
            format!("it is {}, below bound_min, which is {}", self.bound_max, self.bound_min),
            "it must be at least bound_min",
        );
        self.with_fixed_bound().validate(faults);
    }

    fn updates(&self) -> (u64, u64) {
        self.with_fixed_bound().updates()
    }

    fn concurrency(&self) -> u64 {
        self.concurrency
    }

    fn staleness(&self) -> Staleness {
        self.with_fixed_bound().staleness()
    }

    fn flow(&self) -> Option<Flow> {
        self.with_fixed_bound().flow()
    }

    fn may_start(&self, facts: &Facts<'_>, client: &Waiting) -> bool {
        let clocks = Clocks(facts.members);
        let Some(member) = clocks.of(client.candidate.client_id) else { return true };
        self.at_bound == AtBound::Reject
            || self.is_within_least(clocks, member)
            || self.steps_left(clocks, member) > 0
    }

    fn grant(&self, facts: &Facts<'_>, client: ClientId) -> Option<u64> {
        let clocks = Clocks(facts.members);
        let member = clocks.of(client)?;
        if self.at_bound == AtBound::Reject || self.is_within_least(clocks, member) {
            return None;
        }
        let steps = self.steps_left(clocks, member);
        (steps > 0).then_some(member.clock + steps)
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        self.with_fixed_bound().commit(facts)
    }

    fn drops(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        self.with_fixed_bound().drops(facts, outstanding)
    }

    fn first_clock(&self, facts: &Facts<'_>) -> u64 {
        self.with_fixed_bound().first_clock(facts)
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.with_fixed_bound().assignment_milliseconds()
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::{
        super::samples::{client, member, some_facts, waiting},
        *,
    };

    fn paced(client: u8, clock: u64, before: u64, last: u64) -> Member {
        Member { pushed_at: [Some(Timestamp(before)), Some(Timestamp(last))], ..member(client, clock) }
    }

    /// The fastest pushed at 90 and 100, the slowest at 35 and 70. The slowest will push at 105, 140, 175 …
    #[test]
    fn the_controller_finds_the_shortest_wait() {
        let (fast, slow) = (paced(0, 9, 90, 100), paced(1, 5, 35, 70));
        // The fastest finishes its steps at 100, 110, 120, 130, 140. The waits are 5, 5, 15, 10, 0.
        assert_eq!(extra_steps(&fast, &slow, 3), 0);
        assert_eq!(extra_steps(&fast, &slow, 4), 4);
        assert_eq!(extra_steps(&fast, &member(1, 5), 4), 0);
        assert_eq!(extra_steps(&paced(0, 9, 100, 100), &paced(1, 5, 0, u64::MAX / 2), u64::MAX), 0);
    }

    fn policy(bound_min: u64, bound_max: u64) -> DynamicStaleSynchronous {
        DynamicStaleSynchronous {
            bound_min,
            bound_max,
            at_bound: AtBound::Delay,
            concurrency: 8,
            staleness_weight: constant(),
            correction: Correction::None,
            absence_seconds: 60,
            reporting_deadline_seconds: 600,
        }
    }

    #[test]
    fn only_the_fastest_gets_more_than_the_least() {
        // The fastest is 3 ahead, and 4 extra steps are predicted to pay off. The second is also 3 ahead, but not
        // fastest.
        let members = [paced(0, 9, 90, 100), paced(1, 5, 35, 70), member(2, 8)];
        let facts = Facts { members: &members, ..some_facts(20, &[]) };
        let policy = policy(2, 7);
        assert_eq!(
            [0, 1, 2, 3].map(|number| policy.may_start(&facts, &waiting(number))),
            [true, true, false, true]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|number| policy.grant(&facts, client(number))),
            [Some(13), None, None, None]
        );
        let tight = DynamicStaleSynchronous { bound_max: 4, ..policy };
        assert_eq!(tight.grant(&facts, client(0)), None, "one more step would not reduce the wait");
    }

    /// A grant is used up completely, even if a newer prediction differs.
    #[test]
    fn steps_are_granted_once_and_counted_down() {
        let may_start = |clock: u64, granted_until: u64| {
            let fastest = Member { granted_until, ..member(0, clock) };
            let facts_of = [fastest, member(1, 5)];
            policy(2, 7).may_start(&Facts { members: &facts_of, ..some_facts(20, &[]) }, &waiting(0))
        };
        assert_eq!([9, 10, 11, 12].map(|clock| may_start(clock, 12)), [true, true, true, false]);
        assert_eq!([12, 13].map(|clock| may_start(clock, 99)), [true, false], "bound_max is the limit");
    }
}
