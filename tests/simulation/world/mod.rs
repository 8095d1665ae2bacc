//! The world of one seed: a coordinator, its storage and its clients, with a virtual clock that only events advance.

mod check;
mod collection;
mod drivers;
mod environment;
mod exchange;
mod hosts;
mod network;
mod queue;
mod requests;
mod secure;
mod server;
mod set_up;
mod uploads;

use std::{collections::BTreeMap, path::PathBuf};

use bytes::Bytes;
use folkmoot_coordinator::{
    round::Round,
    task::{TaskDescription, TaskState},
};
use folkmoot_protocol::{
    AssignmentId, BlobDigest, OrganisationId, Plan, RoundId, TaskId, TensorSchema, Timestamp, UpdateDigest,
};
use folkmoot_storage::{AssignmentStatus, SqlStorage};
use hosts::SimClient;
use queue::{Event, Queue};
use secure::Secured;
use server::SimServer;

use crate::{
    chance::Chance,
    coverage::Coverage,
    invariants::{Holds, Memory, broken},
    scenario::{Faults, Sabotage, Scenario},
    trace::Trace,
};

/// The virtual Unix time at which a world begins, in milliseconds. The choice is arbitrary.
const BEGINNING: u64 = 1_700_000_000_000;
/// The maximum number of events after which a calm world must have ended.
const CALM_EVENTS_MAX: u64 = 20_000;
/// The maximum virtual time, in milliseconds, after which a calm world must have ended: two hours.
const CALM_MILLISECONDS_MAX: u64 = 2 * 60 * 60 * 1000;
/// The number of events that still run after all tasks have ended, to check that late messages change nothing.
const EVENTS_AFTER_THE_END: u64 = 30;

/// A task, with the facts that the last check read.
struct SimTask {
    id: TaskId,
    description: TaskDescription,
    schema: TensorSchema,
    plan: Plan,
    state: TaskState,
    rounds: BTreeMap<u64, Round>,
}

/// Facts of earlier checks. They must stay true.
#[derive(Default)]
struct Ledger {
    /// The updates that the clients have sent.
    memory: Memory,
    /// The round that combined each update.
    counted: BTreeMap<AssignmentId, RoundId>,
    /// The status of each assignment.
    statuses: BTreeMap<AssignmentId, AssignmentStatus>,
    /// The digest that each client's session has announced for each assignment.
    shown: BTreeMap<(usize, AssignmentId), UpdateDigest>,
    /// The newest assignment and its client.
    newest: Option<(usize, AssignmentId)>,
    /// The messages of secure aggregation.
    secured: Secured,
    /// The blobs that the coordinator has deleted.
    deleted: BTreeMap<BlobDigest, Bytes>,
}

pub struct World {
    seed: u64,
    now: u64,
    queue: Queue,
    chance: Chance,
    trace: Trace,
    coverage: Coverage,
    faults: Faults,
    fault_events: u64,
    sabotage: Option<Sabotage>,
    is_calm: bool,
    organisation: OrganisationId,
    storage: SqlStorage,
    server: SimServer,
    clients: Vec<SimClient>,
    tasks: Vec<SimTask>,
    ledger: Ledger,
}

impl World {
    /// Runs the world of a seed to its end, and returns the counts of its events.
    ///
    /// # Errors
    /// The first invariant that the world violated.
    pub async fn run(
        seed: u64,
        sabotage: Option<Sabotage>,
        storage: SqlStorage,
        folder: PathBuf,
        trace: Trace,
    ) -> Result<Coverage, crate::invariants::Broken> {
        let scenario = Scenario::of(seed, sabotage);
        let mut world = Box::pin(Self::set_up(seed, scenario, storage, folder, trace)).await?;
        let (mut events, mut events_after_the_end) = (0, 0);
        while events < world.fault_events && events_after_the_end < EVENTS_AFTER_THE_END {
            Box::pin(world.step()).await?;
            events += 1;
            events_after_the_end += u64::from(world.has_ended());
        }
        world.calm_down().await?;
        let (began_at, mut calm_events) = (world.now, 0);
        while !world.has_ended() {
            if calm_events > CALM_EVENTS_MAX || world.now - began_at > CALM_MILLISECONDS_MAX {
                return Err(broken("a_kind_world_comes_to_its_end", world.describe()));
            }
            Box::pin(world.step()).await?;
            calm_events += 1;
        }
        world.check_everything().await?;
        Ok(world.coverage)
    }

    async fn step(&mut self) -> Holds {
        let Some((at, event)) = self.queue.pop() else {
            return Err(broken("a_kind_world_comes_to_its_end", "nothing will ever happen any more"));
        };
        self.now = at;
        self.coverage.count("events");
        match event {
            Event::ClientStarts { client } => self.start_client(client),
            Event::ClientMeets { client, incarnation, event } => self.meet(client, incarnation, event),
            Event::ClientSecures { client, incarnation, number, answer } => {
                self.secured(client, incarnation, number, answer)
            }
            Event::AlarmRings { client, alarm } => self.ring(client, alarm),
            Event::RequestArrives { message } => self.request_arrives(message).await,
            Event::BytesArrive { connection } => self.bytes_arrive(connection).await,
            Event::WaitEnds { poll } => self.wait_ends(poll).await,
            Event::DriversWake => self.drive().await,
            Event::DriversTick => self.tick().await,
            Event::CoordinatorStarts => self.start_coordinator().await,
            Event::EnvironmentActs => self.act().await,
        }
    }

    /// Returns `true` if every task has ended and no round is open.
    fn has_ended(&self) -> bool {
        self.tasks.iter().all(|task| {
            task.state.is_final()
                && task.rounds.values().next_back().is_none_or(|round| round.phase.is_final())
        })
    }

    /// Returns the time of the coordinator's clock.
    fn server_now(&self) -> Timestamp {
        Timestamp(self.now.saturating_add_signed(self.server.clock_offset))
    }

    fn note(&self, what: std::fmt::Arguments<'_>) {
        self.trace.note(self.now - BEGINNING, what);
    }

    fn after(&mut self, milliseconds: u64, event: Event) {
        self.queue.push(self.now + milliseconds, event);
    }

    /// Describes the state of all tasks and clients.
    fn describe(&self) -> String {
        let mut text = format!("after {} s:", (self.now - BEGINNING) / 1000);
        for task in &self.tasks {
            let round = task.rounds.values().next_back();
            text += &format!("\n  task {} is {:?}, its last round {round:?}", short(task.id), task.state);
            text += &format!("\n    {:?}", task.description.scheduling);
        }
        for client in &self.clients {
            let state = client.session.as_ref().map(|session| session.state());
            text += &format!("\n  client {} ({:?}) is {state:?}", client.index, client.nature);
        }
        text
    }
}

/// Returns the first digits of an id.
fn short(id: impl std::fmt::Display) -> String {
    let mut text = id.to_string();
    text.truncate(8);
    text
}
