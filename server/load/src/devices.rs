//! Devices with keys, connections and enrolments.

use std::sync::Arc;

use folkmoot_client::{ClientKey, Host, Transport};
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

pub use super::target::Target;
use super::{
    LoadError,
    record::{Kind, Recorder},
};

/// Enrols devices one after the other. Each has connections of its own.
///
/// # Errors
/// [`LoadError::Enrol`] if one of them cannot enrol.
pub async fn enrol_each(target: &Target, token: &str, count: usize) -> Result<Vec<Transport>, LoadError> {
    let host = Host::system().map_err(LoadError::Random)?;
    let mut devices = Vec::with_capacity(count);
    for index in 0..count {
        let device = device(target, target.connections(0)?, &host)?;
        device.enrol(token).await.map_err(|source| LoadError::Enrol { number: index + 1, source })?;
        devices.push(device);
    }
    Ok(devices)
}

/// Enrols devices, at most `in_flight` at the same time. Groups of them share a pool of connections.
///
/// A device that cannot enrol is counted and left out, except for the first: if it fails, so would the others.
///
/// # Errors
/// [`LoadError::Enrol`] if the first device cannot enrol.
pub(crate) async fn enrol_all(
    target: &Target,
    token: &str,
    count: usize,
    in_flight: usize,
    recorder: &Arc<Recorder>,
) -> Result<Vec<Transport>, LoadError> {
    let host = Host::system().map_err(LoadError::Random)?;
    let (token, permits): (Arc<str>, _) = (token.into(), Arc::new(Semaphore::new(in_flight)));
    let mut enrolling = JoinSet::new();
    let mut devices = Vec::with_capacity(count);
    let mut connections = target.connections(0)?;
    for index in 0..count {
        if index > 0 && index % target.group_size() == 0 {
            connections = target.connections(index / target.group_size())?;
        }
        let device = device(target, connections.clone(), &host)?;
        if index == 0 {
            let began = Instant::now();
            device.enrol(&token).await.map_err(|source| LoadError::Enrol { number: 1, source })?;
            recorder.answered(Kind::Enrol, began.elapsed());
            devices.push(device);
            continue;
        }
        let permit = Arc::clone(&permits).acquire_owned().await.expect("the semaphore is never closed");
        let (token, recorder) = (Arc::clone(&token), Arc::clone(recorder));
        enrolling.spawn(async move {
            let _permit = permit;
            let enrolled = recorder.time(Kind::Enrol, Instant::now(), device.enrol(&token)).await;
            enrolled.ok().map(|_| device)
        });
        while let Some(enrolled) = enrolling.try_join_next() {
            devices.extend(enrolled?);
        }
    }
    while let Some(enrolled) = enrolling.join_next().await {
        devices.extend(enrolled?);
    }
    Ok(devices)
}

fn device(target: &Target, connections: reqwest::Client, host: &Host) -> Result<Transport, LoadError> {
    let key = ClientKey::from_secret(host.random_bytes());
    Ok(Transport::with_http(connections, target.url(), key, host.clone())?)
}
