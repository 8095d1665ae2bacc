//! The kinds of clients' requests, and the requests that the coordinator holds.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use folkmoot_protocol::{AssignmentId, ClientId};
use folkmoot_rounds::signals::{Processes, Signal};
use folkmoot_session::{Answer, Failure, RequestId};
use futures::FutureExt;
use tokio::sync::{
    Notify,
    mpsc::{UnboundedReceiver, unbounded_channel},
};

/// The kind of a request. The answer that reports a failure must have the same kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    CheckIn,
    Ask,
    Fetch,
    Upload,
    Report,
    Abort,
}

impl Kind {
    /// Returns the answer of this kind that reports a failure.
    pub fn failed(self, failure: Failure) -> Answer {
        match self {
            Kind::CheckIn => Answer::CheckIn(Err(failure)),
            Kind::Ask => Answer::Ask(Err(failure)),
            Kind::Fetch => Answer::Fetch(Err(failure)),
            Kind::Upload => Answer::Upload(Err(failure)),
            Kind::Report => Answer::Report(Err(failure)),
            Kind::Abort => Answer::Abort(Err(failure)),
        }
    }
}

/// The event that a held request waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum PollOf {
    /// An assignment.
    CheckIn,
    /// A request for the partial update of this assignment.
    Ask(AssignmentId),
}

impl PollOf {
    /// Returns the kind of the request.
    pub fn kind(self) -> Kind {
        match self {
            PollOf::CheckIn => Kind::CheckIn,
            PollOf::Ask(_) => Kind::Ask,
        }
    }
}

/// A held request.
pub(super) struct HeldPoll {
    pub of: PollOf,
    pub client: usize,
    pub id: ClientId,
    pub request_id: RequestId,
    /// The maximum number of milliseconds for which the request may be held.
    pub wait: u64,
    pub waiter: Arc<Notify>,
}

/// The requests that the coordinator holds, by number. The time to find the requests to wake depends on their number,
/// not on the number of held requests.
#[derive(Default)]
pub(super) struct Polls {
    held: BTreeMap<u64, HeldPoll>,
    /// The newest request of each client, for its check-in and for being asked.
    newest: HashMap<(ClientId, bool), u64>,
    last: u64,
    /// The signals of the coordinator, which name the clients that it wakes.
    signals: Option<UnboundedReceiver<Signal>>,
}

impl Polls {
    /// Listens to a coordinator that has started.
    pub fn listen_to(&mut self, processes: &Processes) {
        let (outbox, signals) = unbounded_channel();
        processes.connect(outbox);
        self.signals = Some(signals);
    }

    /// Holds a request, and returns its number.
    pub fn hold(&mut self, poll: HeldPoll) -> u64 {
        self.last += 1;
        self.newest.insert(key_of(&poll), self.last);
        self.held.insert(self.last, poll);
        self.last
    }

    /// Removes a request.
    pub fn remove(&mut self, number: u64) -> Option<HeldPoll> {
        let poll = self.held.remove(&number)?;
        if self.newest.get(&key_of(&poll)) == Some(&number) {
            self.newest.remove(&key_of(&poll));
        }
        Some(poll)
    }

    /// Removes all requests, in the order in which they came.
    pub fn take_all(&mut self) -> impl Iterator<Item = HeldPoll> + use<> {
        self.newest.clear();
        std::mem::take(&mut self.held).into_values()
    }

    /// Lists the requests that the coordinator has woken, in the order in which they came.
    pub fn woken(&mut self) -> BTreeSet<u64> {
        let mut woken = BTreeSet::new();
        let Some(signals) = &mut self.signals else { return woken };
        while let Ok(signal) = signals.try_recv() {
            let (clients, is_ask) = match signal {
                Signal::Assigned(clients) => (clients, false),
                Signal::Asked(clients) => (clients, true),
                Signal::Fact | Signal::Opened | Signal::Ended(_) | Signal::Demand(_) => continue,
            };
            let numbers = clients.iter().filter_map(|client| self.newest.get(&(*client, is_ask)));
            let is_woken = |number: &&u64| {
                self.held.get(*number).is_some_and(|poll| poll.waiter.notified().now_or_never().is_some())
            };
            woken.extend(numbers.filter(is_woken));
        }
        woken
    }

    /// Returns the number of held requests.
    pub fn len(&self) -> usize {
        self.held.len()
    }
}

fn key_of(poll: &HeldPoll) -> (ClientId, bool) {
    (poll.id, matches!(poll.of, PollOf::Ask(_)))
}
