use std::{cmp::Reverse, collections::BinaryHeap};

use folkmoot_session::Event as SessionEvent;

/// Something that will happen.
#[derive(Debug)]
pub enum Event {
    /// A client's app starts, for the first time or again.
    ClientStarts { client: usize },
    /// A session meets an event, unless the app was closed since.
    ClientMeets { client: usize, incarnation: u32, event: Box<SessionEvent> },
    /// A session's alarm rings, unless another was set since.
    AlarmRings { client: usize, alarm: u32 },
    /// An update has been transferred.
    UploadEnds { client: usize, incarnation: u32, upload: Box<PendingUpload> },
    /// The time of a held check-in is over.
    WaitEnds { poll: u64 },
    /// The drivers look at the tasks.
    DriversWake { wake: u64 },
    /// The coordinator's process ends.
    CoordinatorCrashes,
    /// It comes back.
    CoordinatorStarts,
}

/// An update on its way.
#[derive(Debug)]
pub struct PendingUpload {
    pub request_id: folkmoot_session::RequestId,
    pub assignment_id: folkmoot_protocol::AssignmentId,
    pub offset: u64,
}

/// What will happen, in the order of time; what was put in first comes first among equals.
#[derive(Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    events: std::collections::HashMap<u64, Event>,
    next: u64,
}

impl Queue {
    /// Puts an event in.
    pub fn push(&mut self, at: u64, event: Event) {
        self.heap.push(Reverse((at, self.next)));
        self.events.insert(self.next, event);
        self.next += 1;
    }

    /// Takes the next event out.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        let Reverse((at, number)) = self.heap.pop()?;
        let event = self.events.remove(&number).expect("every number in the heap has an event");
        Some((at, event))
    }
}
