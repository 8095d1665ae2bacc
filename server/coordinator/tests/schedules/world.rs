//! A coordinator with one task in memory: the round's state machine, and clients of given speeds, on virtual
//! time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use folkmoot_coordinator::{
    participation::{History, Push, StartClocks, Waiting},
    round::{Collected, Effect, Phase, Purpose, Round, RoundInput, Rules},
    scheduling::{Clocks, Facts, Member, Outstanding, ReportCounts, SchedulingChoice},
    selection::SelectionChoice,
    task::Candidate,
};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, TaskId, Timestamp};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The behaviour of a client.
#[derive(Clone, Copy, Debug)]
pub struct Nature {
    /// The duration of its work, in seconds.
    pub seconds: u64,
    /// On average, the client vanishes during one of this many assignments; 0 means never.
    pub vanishes_in: u64,
    /// The number of seconds for which a client stays away after it vanished.
    pub stays_away_seconds: u64,
}

/// A client and its history.
pub struct Client {
    id: ClientId,
    nature: Nature,
    history: History,
    work: Option<Work>,
    comes_back_at: u64,
    /// The number of assignments that the client was given.
    pub starts: u64,
    /// The number of updates that were accepted.
    pub pushes: u64,
    /// For each accepted update, when the work began and ended, in milliseconds.
    pub works: Vec<(u64, u64)>,
}

struct Work {
    assignment: Outstanding,
    started_at: u64,
    /// The end of the work; `None` if it will never end.
    ends_at: Option<u64>,
}

/// The simulated coordinator and its clients.
pub struct World {
    choice: SchedulingChoice,
    now: u64,
    rng: ChaCha8Rng,
    round: Round,
    accepted: Vec<u64>,
    changes: VecDeque<f64>,
    next_assignment: u64,
    /// The largest random delay added to the duration of an assignment, in milliseconds.
    pub jitter_milliseconds: u64,
    pub clients: Vec<Client>,
    /// The number of commits so far.
    pub commits: u64,
    /// A log of all decisions.
    pub trace: Vec<String>,
}

/// The step of the virtual clock.
const STEP_MILLISECONDS: u64 = 250;
const JITTER_MILLISECONDS: u64 = 499;

impl World {
    pub fn new(choice: SchedulingChoice, natures: Vec<Nature>, seed: u64) -> Self {
        Self::with_jitter(choice, natures, seed, JITTER_MILLISECONDS)
    }

    pub fn with_jitter(
        choice: SchedulingChoice,
        natures: Vec<Nature>,
        seed: u64,
        jitter_milliseconds: u64,
    ) -> Self {
        let client = |(index, nature): (usize, Nature)| Client {
            id: ClientId::from_random_bytes([index as u8; 16]),
            nature,
            history: History::default(),
            work: None,
            comes_back_at: 0,
            starts: 0,
            pushes: 0,
            works: Vec::new(),
        };
        let mut world = Self {
            jitter_milliseconds,
            choice,
            now: 1_000_000,
            rng: ChaCha8Rng::seed_from_u64(seed),
            round: Round {
                id: RoundId::from_random_bytes([1; 16]),
                task_id: TaskId::from_random_bytes([2; 16]),
                number: 1,
                purpose: Purpose::Training,
                base_version: 0,
                phase: Phase::Collecting { since: Timestamp(1_000_000) },
            },
            accepted: Vec::new(),
            changes: VecDeque::new(),
            next_assignment: 0,
            clients: natures.into_iter().enumerate().map(client).collect(),
            commits: 0,
            trace: Vec::new(),
        };
        world.drive();
        world
    }

    pub fn run(&mut self, seconds: u64) {
        let end = self.now + seconds * 1000;
        while self.now < end {
            self.now += STEP_MILLISECONDS;
            for index in 0..self.clients.len() {
                let ends = |work: &Work| work.ends_at.is_some_and(|at| at <= self.now);
                if self.clients[index].work.as_ref().is_some_and(ends) {
                    self.push(index);
                }
            }
            self.drive();
        }
    }

    /// Delivers an update. If the round is full, the update waits.
    fn push(&mut self, index: usize) {
        let flow = self.choice.policy().flow().expect("these policies are flows");
        if flow.updates_max.is_some_and(|most| self.accepted.len() as u64 >= most) {
            return;
        }
        let work = self.clients[index].work.take().expect("a client that pushes has worked");
        let staleness = self.round.base_version - work.assignment.base_version;
        let factor = self.choice.policy().staleness_weight(staleness);
        let factor =
            factor.unwrap_or_else(|| panic!("an update {staleness} versions old was still in progress"));
        assert!(factor > 0.0 && factor <= 1.0);
        self.accepted.push(staleness);
        let now = self.now;
        let client = &mut self.clients[index];
        let push = Push {
            started_at: Timestamp(work.started_at),
            was_asked: false,
            at: Timestamp(now),
            base_version: work.assignment.base_version,
            loss_sum: 1.0,
            example_count: 1,
        };
        client.history.push(push);
        client.pushes += 1;
        client.works.push((work.started_at, now));
        self.trace.push(format!("{now}: {index} pushes, {staleness} old"));
        self.drive();
    }

    fn drive(&mut self) {
        loop {
            let collected = self.collected();
            let now = Timestamp(self.now);
            let rules = Rules::new(self.choice.policy(), &SelectionChoice::Uniform);
            let input = RoundInput::Collected(collected.clone());
            let (round, effects) =
                self.round.clone().step(input, rules, now, &mut self.rng).expect("the round collects");
            self.round = round;
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.perform(effect, &collected);
            }
        }
    }

    fn perform(&mut self, effect: Effect, collected: &Collected) {
        match effect {
            Effect::Assign { clients, deadline, clocks } => {
                self.check_starts(&clients, collected);
                for id in clients {
                    self.start(id, deadline, &clocks);
                }
            }
            Effect::Drop(assignments) => {
                for id in assignments {
                    self.drop_assignment(id);
                }
            }
            Effect::Aggregate => self.commit(),
            Effect::ExpireOutstanding => panic!("a flow has no end of its own"),
            Effect::Ask => panic!("nobody is asked in a flow"),
            Effect::Prefer { .. } => panic!("the draw is uniform"),
            Effect::CloseStep(_) | Effect::Unmasked => panic!("a flow masks no updates"),
        }
    }

    fn start(&mut self, id: ClientId, deadline: Timestamp, clocks: &StartClocks) {
        let index = self.clients.iter().position(|client| client.id == id).expect("it is a client");
        self.next_assignment += 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next_assignment.to_be_bytes());
        let jitter = self.rng.random_range(0..=self.jitter_milliseconds);
        let fate = self.rng.next_u64();
        let (now, base_version, round_number) = (self.now, self.round.base_version, self.round.number);
        let client = &mut self.clients[index];
        let vanishes = client.nature.vanishes_in > 0 && fate.is_multiple_of(client.nature.vanishes_in);
        assert!(client.work.is_none(), "client {index} works already");
        client.history.start(round_number, Timestamp(now));
        client.history.set_clocks(id, clocks);
        client.starts += 1;
        let assignment = Outstanding {
            assignment_id: AssignmentId::from_random_bytes(bytes),
            client_id: id,
            base_version,
            deadline,
        };
        let ends_at = (!vanishes).then(|| now + client.nature.seconds * 1000 + jitter);
        client.work = Some(Work { assignment, started_at: now, ends_at });
        if vanishes {
            client.comes_back_at = now + client.nature.stays_away_seconds * 1000;
        }
        self.trace.push(format!("{now}: {index} starts from {base_version}"));
    }

    fn drop_assignment(&mut self, id: AssignmentId) {
        let is_its =
            |client: &Client| client.work.as_ref().is_some_and(|work| work.assignment.assignment_id == id);
        let index = self.clients.iter().position(is_its).expect("a dropped assignment is outstanding");
        self.clients[index].work = None;
        self.clients[index].history.fail(Timestamp(self.now));
        self.trace.push(format!("{}: {index} is dropped", self.now));
    }

    /// Commits as a driver does. Assignments that fall too far behind are dropped in the same step.
    fn commit(&mut self) {
        let Phase::Aggregating { accepted, .. } = self.round.phase else { panic!("{:?}", self.round.phase) };
        assert_eq!(accepted, self.accepted.len() as u64);
        let (fewest, most) = self.choice.policy().updates();
        assert!((fewest..=most).contains(&accepted), "{accepted} of {fewest} to {most}");
        self.accepted.clear();
        self.commits += 1;
        let change = self.rng.random_range(1..100) as f64 / 100.0;
        self.changes.push_front(change);
        self.round.number += 1;
        self.round.base_version += 1;
        self.round.phase = Phase::Collecting { since: Timestamp(self.now) };
        self.trace.push(format!("{}: version {}", self.now, self.round.base_version));
        let collected = self.collected();
        let facts = facts(&collected, self.round.base_version, self.now);
        let behind: Vec<AssignmentId> = collected
            .outstanding
            .iter()
            .filter(|one| self.choice.policy().drops(&facts, one))
            .map(|one| one.assignment_id)
            .collect();
        behind.into_iter().for_each(|id| self.drop_assignment(id));
    }

    fn collected(&mut self) -> Collected {
        let outstanding: Vec<Outstanding> = self
            .clients
            .iter()
            .filter_map(|client| client.work.as_ref())
            .map(|work| work.assignment)
            .collect();
        let waits = |client: &&Client| client.work.is_none() && client.comes_back_at <= self.now;
        let waiting: Vec<Waiting> = self
            .clients
            .iter()
            .filter(waits)
            .map(|client| Waiting {
                candidate: Candidate {
                    client_id: client.id,
                    example_count: 10,
                    attributes: BTreeMap::new(),
                    sdk_version: "1.0.0".into(),
                }
                .into(),
                history: client.history.clone(),
                user: None,
                token: None,
            })
            .collect();
        let histories: BTreeMap<ClientId, History> = self
            .clients
            .iter()
            .filter(|client| client.starts > 0)
            .map(|client| (client.id, client.history.clone()))
            .collect();
        let histories: Vec<(ClientId, History)> = histories.into_iter().collect();
        let pool: BTreeSet<ClientId> = waiting.iter().map(|one| one.candidate.client_id).collect();
        let absence = self.choice.policy().flow().and_then(|flow| flow.absence_milliseconds);
        let now = Timestamp(self.now);
        let members = absence
            .map(|absence| Member::list(&histories, &outstanding, &pool, &waiting, absence, now))
            .unwrap_or_default();
        let counts = ReportCounts {
            accepted: self.accepted.len() as u64,
            outstanding: outstanding.len() as u64,
            dropped: 0,
        };
        let changes = self.changes.iter().copied().collect();
        Collected { waiting, counts, outstanding, members, changes, ..Collected::default() }
    }

    /// Asserts that no client starts against the bound.
    fn check_starts(&self, clients: &[ClientId], collected: &Collected) {
        let policy = self.choice.policy();
        let under_way = collected.outstanding.len() + clients.len();
        assert!(under_way as u64 <= policy.concurrency(), "{under_way} train");
        use folkmoot_coordinator::scheduling::AtBound::Delay;
        let bound = match self.choice {
            SchedulingChoice::StaleSynchronous(policy) => (policy.at_bound == Delay).then_some(policy.bound),
            SchedulingChoice::DynamicStaleSynchronous(policy) => {
                (policy.at_bound == Delay).then_some(policy.bound_max)
            }
            _ => None,
        };
        for client in clients {
            let lead = Clocks(&collected.members).lead(*client);
            assert!(bound.is_none_or(|bound| lead <= bound), "a client starts {lead} ahead of the slowest");
        }
        if let SchedulingChoice::ValueBounded(policy) = self.choice {
            let facts = facts(collected, self.round.base_version, self.now);
            for one in &collected.outstanding {
                let missed = facts.change_since(one.base_version);
                assert!(missed <= policy.norm_max, "a client starts while another has missed {missed}");
            }
        }
    }
}

fn facts(collected: &Collected, version: u64, now: u64) -> Facts<'_> {
    Facts {
        now: Timestamp(now),
        since: Timestamp(now),
        asked: None,
        version,
        is_crowd: false,
        counts: collected.counts,
        outstanding: &collected.outstanding,
        members: &collected.members,
        changes: &collected.changes,
    }
}
