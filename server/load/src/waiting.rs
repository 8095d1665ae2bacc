//! Devices that stay connected and wait for work.

use std::{sync::Arc, time::Duration};

use folkmoot_client::Transport;
use folkmoot_protocol::messages::CheckInResponse;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout},
};

use super::{chance::Chance, record::Kind, shared::Shared, update::offer};

/// The shortest time between two requests of a waiting device. A coordinator that answers at once, for example because a
/// quota is used up, is not asked more often.
const PAUSE: Duration = Duration::from_secs(1);

/// Connects, and then waits for work again and again until the future is dropped. Sends to `is_connected` when the
/// first wait begins.
pub async fn stay(shared: Arc<Shared>, device: Transport, number: usize, is_connected: oneshot::Sender<()>) {
    let mut chance = Chance::new(shared.settings.seed, number as u64 + 1);
    {
        // Connections are opened a few at a time, as if the devices had not all been switched on together.
        let _permit = shared.permits.acquire().await;
        let began = Instant::now();
        let _ = shared.recorder.time(Kind::Connect, began, device.check_in(&offer(), 0)).await;
    }
    let mut is_connected = Some(is_connected);
    loop {
        let began = Instant::now();
        if chance.happens(shared.settings.churn) {
            leave(&shared, &device, &mut chance, &mut is_connected).await;
        } else {
            wait(&shared, &device, &mut chance, &mut is_connected).await;
        }
        if began.elapsed() < PAUSE {
            sleep(PAUSE).await;
        }
    }
}

async fn wait(
    shared: &Shared,
    device: &Transport,
    chance: &mut Chance,
    told: &mut Option<oneshot::Sender<()>>,
) {
    let (offer, seconds) = (offer(), shared.settings.wait_seconds);
    let answer = {
        let _connected = shared.recorder.connected();
        told.take().map(|told| told.send(()));
        shared.recorder.time(Kind::Wait, Instant::now(), device.check_in(&offer, seconds)).await
    };
    if let Ok(CheckInResponse::Assigned { assignment }) = answer {
        shared.take_part(device, &assignment, chance).await;
    }
}

/// Waits, leaves before the wait is over, stays away, and comes back.
async fn leave(
    shared: &Shared,
    device: &Transport,
    chance: &mut Chance,
    told: &mut Option<oneshot::Sender<()>>,
) {
    let settings = &shared.settings;
    let early = chance.part_of(Duration::from_secs(settings.wait_seconds.into()));
    let answer = {
        let _connected = shared.recorder.connected();
        told.take().map(|told| told.send(()));
        timeout(early, device.check_in(&offer(), settings.wait_seconds)).await
    };
    match answer {
        Ok(Ok(CheckInResponse::Assigned { assignment })) => {
            shared.take_part(device, &assignment, chance).await;
        }
        Ok(Ok(CheckInResponse::Wait { .. })) => {}
        Ok(Err(error)) => shared.recorder.failed(Kind::Wait, &error.into()),
        Err(_) => {
            shared.recorder.dropped(Kind::Wait);
            sleep(chance.part_of(Duration::from_secs(settings.away_seconds.into()))).await;
        }
    }
}
