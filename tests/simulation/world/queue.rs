//! The queue of future events, ordered by virtual time.

use std::{cmp::Ordering, collections::BinaryHeap};

use folkmoot_session::Event as SessionEvent;

use super::network::{Message, Secured};

/// An event of a world.
#[allow(clippy::large_enum_variant, reason = "a world has few events at a time")]
pub enum Event {
    /// A client's process starts.
    ClientStarts { client: usize },
    /// A client's session receives an event, if the process is still the same.
    ClientMeets { client: usize, incarnation: u32, event: SessionEvent },
    /// A client gets the response to a request of secure aggregation, if it still waits for this one.
    ClientSecures { client: usize, incarnation: u32, number: u64, answer: Secured },
    /// A client's alarm rings, unless the client has set another one since.
    AlarmRings { client: usize, alarm: u64 },
    /// A request arrives at the coordinator.
    RequestArrives { message: Message },
    /// The next bytes of an upload arrive.
    BytesArrive { connection: u64 },
    /// A held check-in has waited for its maximum time.
    WaitEnds { poll: u64 },
    /// The drivers were woken.
    DriversWake,
    /// The drivers' clock ticks.
    DriversTick,
    /// The coordinator's process starts.
    CoordinatorStarts,
    /// The environment performs its next event.
    EnvironmentActs,
}

struct Entry {
    at: u64,
    sequence: u64,
    event: Event,
}

impl Ord for Entry {
    /// Orders events in reverse, so that the heap, which pops the greatest entry, pops the earliest event.
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

/// The future events. Events at the same time keep the order in which they were added.
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

    /// Removes and returns the next event with its time.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.entries.pop().map(|entry| (entry.at, entry.event))
    }
}
