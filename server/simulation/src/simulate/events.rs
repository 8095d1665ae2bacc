use std::{cmp::Reverse, collections::BinaryHeap};

use folkmoot_session::Event as SessionEvent;

/// A future event.
#[derive(Debug)]
pub enum Event {
    /// A client's app starts, for the first time or again.
    ClientStarts { client: usize },
    /// A session receives an event, unless the app was closed in the meantime.
    ClientMeets { client: usize, incarnation: u32, event: Box<SessionEvent> },
    /// A session's alarm goes off, unless another alarm was set in the meantime.
    AlarmRings { client: usize, alarm: u32 },
    /// The transfer of an update ends.
    UploadEnds { client: usize, incarnation: u32, upload: Box<PendingUpload> },
    /// The waiting time of a held request ends.
    WaitEnds { poll: u64 },
    /// The drivers look at the task.
    DriversWake { wake: u64 },
    /// The coordinator's process crashes.
    CoordinatorCrashes,
    /// The coordinator's process starts again.
    CoordinatorStarts,
}

/// An update in transfer.
#[derive(Debug)]
pub struct PendingUpload {
    pub request_id: folkmoot_session::RequestId,
    pub assignment_id: folkmoot_protocol::AssignmentId,
    pub offset: u64,
}

/// The future events, ordered by time. Events at the same time are ordered by when they were added.
#[derive(Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    events: std::collections::HashMap<u64, Event>,
    next: u64,
}

impl Queue {
    /// Adds an event.
    pub fn push(&mut self, at: u64, event: Event) {
        self.heap.push(Reverse((at, self.next)));
        self.events.insert(self.next, event);
        self.next += 1;
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        let Reverse((at, number)) = self.heap.pop()?;
        let event = self.events.remove(&number).expect("every number in the heap has an event");
        Some((at, event))
    }
}
