//! What will happen, in the order of the virtual time.

use std::{cmp::Ordering, collections::BinaryHeap};

use folkmoot_session::Event as SessionEvent;

use super::network::Message;

/// Something that happens to a world.
pub enum Event {
    /// A client's process starts.
    ClientStarts { client: usize },
    /// A client's process, if it is still this one, meets something.
    ClientMeets { client: usize, incarnation: u32, event: SessionEvent },
    /// A client's alarm rings, if it is still this one.
    AlarmRings { client: usize, alarm: u64 },
    /// A request arrives at the coordinator.
    RequestArrives { message: Message },
    /// The next bytes of an upload arrive.
    BytesArrive { connection: u64 },
    /// A check-in that was held has waited long enough.
    WaitEnds { poll: u64 },
    /// The drivers were woken.
    DriversWake,
    /// The drivers' clock ticks.
    DriversTick,
    /// The coordinator's process starts.
    CoordinatorStarts,
    /// The environment draws what goes wrong next.
    EnvironmentActs,
}

struct Entry {
    at: u64,
    sequence: u64,
    event: Event,
}

impl Ord for Entry {
    /// The earliest is the greatest, which is what a heap brings first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// The events to come; of two at the same time the one that was made first.
#[derive(Default)]
pub struct Queue {
    entries: BinaryHeap<Entry>,
    sequence: u64,
}

impl Queue {
    /// Adds an event at a virtual time.
    pub fn push(&mut self, at: u64, event: Event) {
        self.sequence += 1;
        self.entries.push(Entry { at, sequence: self.sequence, event });
    }

    /// Takes the next event, with its time.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.entries.pop().map(|entry| (entry.at, entry.event))
    }
}
