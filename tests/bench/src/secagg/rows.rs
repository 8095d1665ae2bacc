use folkmoot_secure_aggregation::packed_bytes;
use serde::Serialize;

use super::{
    case::stream_bytes,
    coordinator::{self, Report},
    exchange::Exchange,
};
use crate::{Failure, folder::TemporaryFolder};

/// One cohort, length and share of drop-outs. Times are CPU time unless they are named otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The number of clients.
    pub cohort: usize,
    /// The number of values of an update.
    pub values: usize,
    /// The share of the clients that vanish before they upload.
    pub drop_out: f64,
    /// The number of neighbours of each client.
    pub neighbours: u32,
    /// The number of neighbours that together recover a secret.
    pub threshold: u32,
    /// The number of bits of a masked value.
    pub ring_bits: u32,
    /// The time of one client: keys, shares, masks.
    pub client_seconds: f64,
    /// The bytes of one client's update, divided by those of its packed values.
    pub update_ratio: f64,
    /// The bytes of all other messages that one client sends and receives.
    pub message_bytes: usize,
    /// The coordinator's time for each update, for its whole part.
    pub coordinator_seconds_per_update: f64,
    /// The coordinator's key stream per CPU second while it removes the masks, divided by that of the cipher alone.
    pub unmask_bandwidth: f64,
    /// The bytes of the sum.
    pub sum_bytes: usize,
    /// The coordinator's measurements.
    pub report: Report,
}

impl Row {
    /// Measures a round with updates of this length. The coordinator does its part `repetitions` times, and the fastest counts.
    ///
    /// # Errors
    /// If the coordinator's process fails.
    pub fn measure(
        exchange: &Exchange,
        values: usize,
        repetitions: usize,
        (threads, cipher): (usize, f64),
    ) -> Result<Self, Failure> {
        let case = exchange.case;
        let folder = TemporaryFolder::new("secagg")?;
        let (messages, file) = (folder.path().join("messages.jsonl"), folder.path().join("update"));
        exchange.write(&messages)?;
        let (update, client_time) = exchange.update(values)?;
        std::fs::write(&file, &update)?;
        let reports: Vec<Report> = (0..repetitions)
            .map(|_| coordinator::measure(case, (values, threads), &messages, &file))
            .collect::<Result<_, Failure>>()?;
        let fastest = |a: &Report, b: &Report| a.seconds_per_update().total_cmp(&b.seconds_per_update());
        let report = reports.into_iter().min_by(fastest).ok_or("at least one repetition is needed")?;
        let ring = case.ring()?;
        let stream = stream_bytes(ring, report.masks, values);
        Ok(Self {
            cohort: case.cohort,
            values,
            drop_out: case.drop_out,
            neighbours: exchange.parameters.degree,
            threshold: exchange.parameters.threshold,
            ring_bits: ring.bits(),
            client_seconds: client_time.as_secs_f64(),
            update_ratio: update.len() as f64 / packed_bytes(ring, values as u64) as f64,
            message_bytes: exchange.message_bytes,
            coordinator_seconds_per_update: report.seconds_per_update(),
            unmask_bandwidth: stream / report.unmask_seconds / cipher,
            sum_bytes: values * size_of::<u64>(),
            report,
        })
    }
}
