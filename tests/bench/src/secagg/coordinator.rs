//! The coordinator's part of a round, in a process of its own, so that its memory can be measured.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use folkmoot_protocol::secure::{Opening, OutgoingShare};
use folkmoot_secure_aggregation::{Masks, Ring, Segment, Transcript, Unpacker, packed_bytes};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    case::{Case, TILE, VALUE, context},
    cpu::{Spent, on_all, timed},
    exchange::Head,
};
use crate::{Failure, process};

/// Settings of the process.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    case: Case,
    /// Number of values of each update
    #[arg(long)]
    values: usize,
    /// Number of threads
    #[arg(long)]
    threads: usize,
    /// File with the messages of the clients
    #[arg(long)]
    messages: PathBuf,
    /// File with a masked update, which stands for the update of every survivor
    #[arg(long)]
    update: PathBuf,
}

/// The output of the process. Times are CPU time unless they are named otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The time to check the roster, to pass on the shares, and to check the opened shares.
    pub exchange_seconds: f64,
    /// The time to recover the masks from the opened shares.
    pub recover_seconds: f64,
    /// The time to add the updates.
    pub add_seconds: f64,
    /// The time to remove the masks from the sum.
    pub unmask_seconds: f64,
    /// The wall-clock time to remove the masks from the sum, on all threads.
    pub unmask_wall_seconds: f64,
    /// The number of masks on the sum.
    pub masks: usize,
    /// The number of updates.
    pub updates: usize,
    /// The memory of the process before it allocates the sum, in bytes.
    pub before_bytes: u64,
    /// The peak memory of the process while it adds the updates and removes the masks, in bytes.
    pub peak_bytes: u64,
}

impl Report {
    /// Returns the CPU time of the coordinator for each update.
    pub fn seconds_per_update(&self) -> f64 {
        let all = self.exchange_seconds + self.recover_seconds + self.add_seconds + self.unmask_seconds;
        all / self.updates as f64
    }
}

/// Does the coordinator's part and prints the report as JSON.
///
/// # Errors
/// If a message is invalid, or the sum is wrong.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { case, values, threads, .. } = *arguments;
    let ring = case.ring()?;
    let mut lines = BufReader::new(File::open(&arguments.messages)?).lines();
    let Head { roster, survivors, checked } = next(&mut lines)?;
    let shares: Vec<Vec<OutgoingShare>> =
        (0..case.cohort).map(|_| next(&mut lines)).collect::<Result<_, Failure>>()?;
    let openings: Vec<Opening> =
        survivors.iter().map(|_| next(&mut lines)).collect::<Result<_, Failure>>()?;
    let (transcript, shared) = timed(|| {
        let mut transcript = Transcript::new(context(), &case.terms(), roster)?;
        for (member, shares) in shares.into_iter().enumerate() {
            transcript.add_shares(member as u32, shares)?;
        }
        (0..case.cohort as u32).for_each(|member| drop(transcript.inbox(member)));
        Ok(transcript)
    })?;
    let mut unmasking = transcript.unmasking(&survivors);
    let ((), opened) = timed(|| {
        for (member, opening) in survivors.iter().zip(&openings) {
            unmasking.add(*member, opening)?;
        }
        Ok(())
    })?;
    drop(openings);
    let (masks, recovered) = timed(|| Ok(unmasking.recover()?))?;
    check(&masks, ring, checked, survivors.len())?;
    process::forget_peak_memory(std::process::id())?;
    let before_bytes = process::memory(std::process::id())?;
    let mut sum = vec![0u64; values];
    let added = add(&arguments.update, ring, survivors.len(), &mut sum, threads)?;
    let unmasked = remove(&masks, ring, &mut sum, threads)?;
    let seconds = |time: Duration| time.as_secs_f64();
    let report = Report {
        exchange_seconds: seconds(shared + opened),
        recover_seconds: seconds(recovered),
        add_seconds: seconds(added.cpu),
        unmask_seconds: seconds(unmasked.cpu),
        unmask_wall_seconds: seconds(unmasked.wall),
        masks: masks.len(),
        updates: survivors.len(),
        before_bytes,
        peak_bytes: process::peak_memory(std::process::id())?,
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Does the coordinator's part in a separate process.
///
/// # Errors
/// If the process fails. Its messages go to standard error.
pub fn measure(
    case: Case,
    (values, threads): (usize, usize),
    messages: &Path,
    update: &Path,
) -> Result<Report, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("secagg-coordinator").arg("--messages").arg(messages).arg("--update").arg(update);
    for (name, value) in [
        ("--cohort", case.cohort.to_string()),
        ("--drop-out", case.drop_out.to_string()),
        ("--values", values.to_string()),
        ("--threads", threads.to_string()),
    ] {
        command.args([name, &value]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the coordinator of {} clients failed", case.cohort).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn next<T: DeserializeOwned>(
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
) -> Result<T, Failure> {
    Ok(serde_json::from_str(&lines.next().ok_or("the file of messages is too short")??)?)
}

/// Checks that `masks` remove the masks from the sum of the first values of all updates.
fn check(masks: &Masks, ring: Ring, mut sums: Vec<u64>, updates: usize) -> Result<(), Failure> {
    masks.add_to(Segment::Values(ring), 0, &mut sums);
    let expected = VALUE * updates as i64;
    match sums.iter().all(|sum| ring.lift(ring.reduce(*sum)) == expected) {
        true => Ok(()),
        false => Err("the sum without masks differs from the sum of the updates".into()),
    }
}

/// Adds the same update as often as clients survived. Like the coordinator, a thread reads one tile of one update at a time.
fn add(update: &Path, ring: Ring, updates: usize, sum: &mut [u64], threads: usize) -> Result<Spent, Failure> {
    let tiles = Mutex::new(sum.chunks_mut(TILE).enumerate().collect::<Vec<_>>());
    on_all(threads, || {
        let mut file = File::open(update)?;
        let mut elements = Vec::with_capacity(TILE);
        while let Some((index, tile)) = pop(&tiles) {
            let mut bytes = vec![0; packed_bytes(ring, tile.len() as u64) as usize];
            for _ in 0..updates {
                file.seek(SeekFrom::Start(packed_bytes(ring, (index * TILE) as u64)))?;
                file.read_exact(&mut bytes)?;
                elements.clear();
                Unpacker::new(ring, tile.len() as u64).push(&bytes, &mut elements);
                tile.iter_mut().zip(&elements).for_each(|(sum, element)| *sum = sum.wrapping_add(*element));
            }
        }
        Ok(())
    })
}

/// Removes masks from a sum, with one tile at a time on each thread.
///
/// # Errors
/// If the kernel does not report CPU time.
pub fn remove(masks: &Masks, ring: Ring, sum: &mut [u64], threads: usize) -> Result<Spent, Failure> {
    let tiles = Mutex::new(sum.chunks_mut(TILE).enumerate().collect::<Vec<_>>());
    on_all(threads, || {
        while let Some((index, tile)) = pop(&tiles) {
            masks.add_to(Segment::Values(ring), (index * TILE) as u64, tile);
        }
        Ok(())
    })
}

fn pop<T>(queue: &Mutex<Vec<T>>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop()
}
