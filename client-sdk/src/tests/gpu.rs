//! The client with a graphics adapter. Without one, these tests are skipped with a message.

#[path = "../../gpu/src/tests/adapter.rs"]
mod adapter;

use std::{
    path::Path,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use folkmoot_engine::Gpu;
use folkmoot_protocol::update::UpdateHeader;

use super::{
    fake::{Fake, Trouble},
    story::{builder, never},
};
use crate::{ClientEvent, Device, Devices};

/// Lets the client accept its earlier assignment again, because the test coordinator has only one.
fn forget_session(directory: &Path) {
    let _ = std::fs::remove_file(directory.join("session.json"));
}

/// The devices that a client trained on, in order.
#[derive(Clone, Default)]
struct Trained(Arc<Mutex<Vec<String>>>);

impl Trained {
    fn hear(&self, event: &ClientEvent) {
        if let ClientEvent::Device { device, .. } = event {
            self.0.lock().unwrap().push(device.clone());
        }
    }

    fn on(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn a_round_is_trained_on_an_adapter_which_is_tuned_once() {
    if adapter::gpu().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("devices.json");
    let mut tunings = Vec::new();
    for _ in 0..2 {
        let fake = Arc::new(Fake::new(3, Trouble::default()));
        forget_session(directory.path());
        let heard = Trained::default();
        let heard_too = heard.clone();
        let builder = builder(&fake, directory.path()).await.device(Device::Gpu);
        let mut client = builder.on_event(move |event| heard_too.hear(&event)).build().unwrap();
        client.run_rounds(1, never()).await.unwrap();
        assert_ne!(heard.on(), ["cpu"]);
        let header = UpdateHeader::decode(fake.seen().update.first_chunk().unwrap()).unwrap();
        assert_eq!((header.metrics.example_count, header.metrics.step_count), (30, 15));
        tunings.push(std::fs::read_to_string(&path).unwrap());
    }
    assert!(tunings[0].contains("tuning"), "{}", tunings[0]);
    assert_eq!(tunings[0], tunings[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_training_survives_its_adapter_which_is_then_left_alone() {
    if adapter::gpu().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for breaks in [true, false] {
        let fake = Arc::new(Fake::new(100, Trouble::default()));
        forget_session(directory.path());
        let (heard, devices) = (Trained::default(), Arc::new(OnceLock::<Devices>::new()));
        let (heard_too, to_break) = (heard.clone(), Arc::clone(&devices));
        let to_do = AtomicBool::new(breaks);
        let builder = builder(&fake, directory.path()).await.device(Device::Gpu);
        let mut client = builder
            .on_event(move |event| {
                heard_too.hear(&event);
                let is_under_way = matches!(event, ClientEvent::Training { step: 50.., .. });
                if is_under_way && to_do.swap(false, Ordering::Relaxed) {
                    to_break.get().unwrap().break_adapter();
                }
            })
            .build()
            .unwrap();
        assert!(devices.set(client.devices().clone()).is_ok());
        client.run_rounds(1, never()).await.unwrap();
        let header = UpdateHeader::decode(fake.seen().update.first_chunk().unwrap()).unwrap();
        assert_eq!(header.metrics.step_count, 500);
        let trained = heard.on();
        assert_eq!(trained.last().unwrap(), "cpu");
        assert_eq!(trained.len(), if breaks { 2 } else { 1 }, "{trained:?}");
    }
    let memory = std::fs::read_to_string(directory.path().join("devices.json")).unwrap();
    assert!(memory.contains("the app released it"), "{memory}");
}
