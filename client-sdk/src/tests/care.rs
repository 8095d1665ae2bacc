//! Clients that train only while their device's conditions allow it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
    mpsc,
};

use folkmoot_protocol::{
    DeviceCondition, DeviceRule, Timestamp, messages::AbortReason, update::HEADER_BYTES,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{
    fake::{Fake, Trouble},
    patiently,
    story::{builder, never},
    until,
};
use crate::{ClientBuilder, ClientEvent, DeviceConditions, DevicePolicy, Host, Thermal};

const CHARGING: DeviceConditions = DeviceConditions {
    is_charging: Some(true),
    is_unmetered: None,
    is_idle: None,
    battery_percent: None,
    thermal: None,
};
const UNPLUGGED: DeviceConditions = DeviceConditions { is_charging: Some(false), ..CHARGING };
/// Epochs of a training that pauses: a few hundred steps.
const EPOCHS: u32 = 50;
/// Epochs of a training that never ends on its own.
const ENDLESS: u32 = u32::MAX / 8;

/// Never gives up an assignment because of a pause, however slow the machine is.
fn patient() -> DevicePolicy {
    DevicePolicy { give_up_after_seconds: u32::MAX, ..DevicePolicy::default() }
}

/// A host whose clock advances by 200 ms at each reading. A chunk of the training is then one step, and each step is
/// reported.
fn host() -> Host {
    let now = AtomicU64::new(1_000_000);
    Host::new(move || Timestamp(now.fetch_add(200, Ordering::Relaxed)), [5; 32])
}

/// Returns the builder with a callback for events, the events, and the number of the newest step.
fn heard(builder: ClientBuilder) -> (ClientBuilder, UnboundedReceiver<ClientEvent>, Arc<AtomicU64>) {
    let (sender, events) = unbounded_channel();
    let newest = Arc::new(AtomicU64::new(0));
    let step = Arc::clone(&newest);
    let builder = builder.on_event(move |event| match event {
        ClientEvent::Training { step: now, .. } => step.store(now, Ordering::Relaxed),
        event => drop(sender.send(event)),
    });
    (builder, events, newest)
}

/// Blocks the training thread after its first step.
struct Gate {
    reached: UnboundedReceiver<u64>,
    go_on: mpsc::Sender<()>,
}

impl Gate {
    /// Waits until the thread is blocked, and returns its step.
    async fn reached(&mut self) -> u64 {
        patiently("the first step", self.reached.recv()).await.expect("the client lives")
    }

    /// Unblocks the thread.
    fn open(self) {
        drop(self.go_on);
    }
}

/// Like [`heard`], but the training thread waits at a gate.
fn gated(builder: ClientBuilder) -> (ClientBuilder, UnboundedReceiver<ClientEvent>, Arc<AtomicU64>, Gate) {
    let (sender, events) = unbounded_channel();
    let (at_gate, reached) = unbounded_channel();
    let (go_on, opened) = mpsc::channel();
    let opened = Mutex::new(opened);
    let newest = Arc::new(AtomicU64::new(0));
    let newest_here = Arc::clone(&newest);
    let builder = builder.on_event(move |event| match event {
        ClientEvent::Training { step, .. } => {
            if newest_here.swap(step, Ordering::Relaxed) == 0 && step > 0 {
                // The test may already be over.
                let _ = at_gate.send(step);
                let _ = opened.lock().unwrap().recv();
            }
        }
        event => drop(sender.send(event)),
    });
    (builder, events, newest, Gate { reached, go_on })
}

async fn next(
    events: &mut UnboundedReceiver<ClientEvent>,
    wanted: impl Fn(&ClientEvent) -> bool,
) -> ClientEvent {
    let found = async {
        loop {
            let event = events.recv().await.expect("the client lives");
            if wanted(&event) {
                return event;
            }
        }
    };
    patiently("an event", found).await
}

async fn paused(events: &mut UnboundedReceiver<ClientEvent>) -> String {
    match next(events, |event| matches!(event, ClientEvent::Paused { .. })).await {
        ClientEvent::Paused { reason } => reason,
        event => panic!("{event:?}"),
    }
}

/// The update of an undisturbed training.
async fn undisturbed(epochs: u32) -> Vec<u8> {
    let fake = Arc::new(Fake::new(epochs, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.host(host());
    builder.build().unwrap().run_rounds(1, never()).await.unwrap();
    std::mem::take(&mut fake.seen().update)
}

#[tokio::test]
async fn a_training_pauses_between_two_steps_and_goes_on_to_the_same_update() {
    let fake = Arc::new(Fake::new(EPOCHS, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.host(host());
    let policy = DevicePolicy { requires_charging: true, ..patient() };
    let (builder, mut events, step, mut gate) = gated(builder.policy(policy));
    let mut client = builder.build().unwrap();
    let care = client.care().clone();
    let run = tokio::spawn(async move { client.run_rounds(1, never()).await });
    assert_eq!(paused(&mut events).await, "charging", "nothing is known yet");
    assert!(fake.seen().requests.iter().all(|request| !request.line.starts_with("POST /v1/check-in")));

    care.set_conditions(CHARGING);
    next(&mut events, |event| matches!(event, ClientEvent::Resumed)).await;
    let at = gate.reached().await;
    care.set_conditions(UNPLUGGED);
    assert_eq!(paused(&mut events).await, "charging");
    gate.open();
    until("the rest", || care.is_resting()).await;
    // A thread that did not pause would train to the end, like this other one.
    let undisturbed = undisturbed(EPOCHS).await;
    assert!(care.is_resting() && step.load(Ordering::Relaxed) == at, "it trains no more");
    let stored = directory.path().join("assignments");
    assert!(std::fs::read_dir(stored).unwrap().count() > 0, "the process may end here");

    care.set_conditions(CHARGING);
    run.await.unwrap().unwrap();
    assert!(fake.seen().aborts.is_empty());
    let update = std::mem::take(&mut fake.seen().update);
    assert_eq!(update[HEADER_BYTES..], undisturbed[HEADER_BYTES..]);
    assert!(update.len() > HEADER_BYTES);
}

#[tokio::test]
async fn a_pause_that_lasts_gives_the_assignment_up_and_asks_for_none() {
    let fake = Arc::new(Fake::new(ENDLESS, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.host(Host::system().unwrap());
    let policy = DevicePolicy { give_up_after_seconds: 0, ..DevicePolicy::default() };
    let (builder, mut events, step) = heard(builder.policy(policy));
    let mut client = builder.build().unwrap();
    let care = client.care().clone();
    let run = tokio::spawn(async move { client.run(never()).await });
    until("the first step", || step.load(Ordering::Relaxed) > 0).await;
    care.set_conditions(DeviceConditions { thermal: Some(Thermal::Critical), ..CHARGING });
    assert_eq!(paused(&mut events).await, "thermal");
    until("an abort", || !fake.seen().aborts.is_empty()).await;
    assert_eq!(fake.seen().aborts[0].reason, AbortReason::ConditionsEnded);
    let asked = |fake: &Fake| {
        fake.seen().requests.iter().filter(|request| request.line.starts_with("POST /v1/check-in")).count()
    };
    assert_eq!(asked(&fake), 1);
    care.set_conditions(CHARGING);
    next(&mut events, |event| matches!(event, ClientEvent::Resumed)).await;
    until("another check-in", || asked(&fake) > 1).await;
    care.set_paused(Some("a video plays".to_owned()));
    assert_eq!(paused(&mut events).await, "a video plays");
    run.abort();
}

#[tokio::test]
async fn a_plans_rules_about_the_device_hold_before_and_during_its_training() {
    let mut fake = Fake::new(EPOCHS, Trouble::default());
    let condition = DeviceCondition::Equals("true".into());
    fake.plan.device_rules = vec![DeviceRule { attribute: "device.charging".into(), condition }];
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.host(host());
    let (builder, mut events, _, mut gate) = gated(builder.policy(patient()));
    let mut client = builder.build().unwrap();
    let care = client.care().clone();
    care.set_conditions(UNPLUGGED);
    let run = tokio::spawn(async move { client.run_rounds(1, never()).await });
    until("an abort", || !fake.seen().aborts.is_empty()).await;
    assert_eq!(fake.seen().aborts[0].reason, AbortReason::Declined);
    assert_eq!(fake.weights_requests(), 0, "nothing but the plan was fetched for it");
    fake.seen().aborts.clear();

    care.set_conditions(CHARGING);
    gate.reached().await;
    care.set_conditions(UNPLUGGED);
    assert_eq!(paused(&mut events).await, "plan");
    gate.open();
    until("the rest", || care.is_resting()).await;
    care.set_conditions(CHARGING);
    run.await.unwrap().unwrap();
    assert_eq!(fake.seen().reports.len(), 1);
}

#[tokio::test]
async fn when_the_time_of_a_day_is_over_nothing_is_asked_for_until_the_next() {
    let fake = Arc::new(Fake::new(ENDLESS, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    // Its clock advances by a second at each reading.
    let builder = builder(&fake, directory.path()).await.training_seconds_per_day(20);
    let (builder, mut events, _) = heard(builder);
    let mut client = builder.build().unwrap();
    let run = tokio::spawn(async move { client.run(never()).await });
    assert_eq!(paused(&mut events).await, "training_time");
    until("an abort", || !fake.seen().aborts.is_empty()).await;
    assert_eq!(fake.seen().aborts[0].reason, AbortReason::ConditionsEnded);
    let day = 24 * 60 * 60 * 1000;
    let waits = |event: &ClientEvent| matches!(event, ClientEvent::Waiting { until } if until.0 >= day);
    next(&mut events, waits).await;
    run.abort();
    let stored = std::fs::read_to_string(directory.path().join("training_time.json")).unwrap();
    assert!(stored.contains("amount"), "{stored}");
}

#[tokio::test]
async fn when_the_battery_has_done_its_time_a_charger_lets_the_training_go_on() {
    let fake = Arc::new(Fake::new(ENDLESS, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.host(Host::system().unwrap());
    let (builder, mut events, step) = heard(builder.policy(patient()).battery_seconds_per_day(1));
    let mut client = builder.build().unwrap();
    let care = client.care().clone();
    care.set_conditions(UNPLUGGED);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let run = tokio::spawn(async move { client.run(async { drop(stopped.await) }).await });
    assert_eq!(paused(&mut events).await, "battery_time");
    until("the rest", || care.is_resting()).await;
    let rested = step.load(Ordering::Relaxed);
    assert!(rested > 0);
    care.set_conditions(CHARGING);
    until("the next step", || step.load(Ordering::Relaxed) > rested).await;
    assert!(fake.seen().aborts.is_empty(), "it is the same assignment");
    stop.send(()).unwrap();
    run.await.unwrap().unwrap();

    // The used time stays used: without a charger, the client asks for no assignment.
    let builder = self::builder(&fake, directory.path()).await.host(Host::system().unwrap());
    let (builder, mut events, _) = heard(builder.battery_seconds_per_day(1));
    let mut client = builder.build().unwrap();
    let run = tokio::spawn(async move { client.run(never()).await });
    assert_eq!(paused(&mut events).await, "battery_time");
    run.abort();
}

#[tokio::test]
async fn what_the_last_second_of_a_day_has_trained_is_sent() {
    let mut fake = Fake::new(1, Trouble::default());
    fake.plan.training.batch_size = 10;
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().unwrap();
    // Its clock advances by a second at each reading, so the training's only step uses up the day.
    let builder = builder(&fake, directory.path()).await.training_seconds_per_day(1);
    let (builder, mut events, _) = heard(builder);
    let mut client = builder.build().unwrap();
    let run = tokio::spawn(async move { client.run(never()).await });
    next(&mut events, |event| matches!(event, ClientEvent::Accepted { .. })).await;
    assert!(fake.seen().aborts.is_empty());
    run.abort();
}
