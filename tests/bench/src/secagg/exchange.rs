use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    sync::Mutex,
    time::Duration,
};

use folkmoot_protocol::{
    AssignmentId,
    secure::{Member, Opening, OutgoingShare, Roster, SecureMessage, Survivors},
};
use folkmoot_secure_aggregation::{
    Advertising, Draft, Masking, Parameters, Policy, Ring, Root, Sharing, Transcript, Unpacker,
};
use folkmoot_simulation::chance::shuffle;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::{
    case::{Case, EXTRAS, VALUE, context},
    cpu::{map, timed},
};
use crate::Failure;

/// The number of clients that mask a whole update. The others only send the messages of the round.
const MEASURED: usize = 3;
/// The number of values of each update that are masked and summed, to check the masks.
const CHECKED: usize = 256;

/// A round whose clients have sent all messages but their updates.
pub struct Exchange {
    /// The clients of the round.
    pub case: Case,
    /// The degree and the threshold.
    pub parameters: Parameters,
    /// The first messages, in the file of the coordinator.
    head: Head,
    shares: Vec<Vec<OutgoingShare>>,
    openings: Vec<Opening>,
    /// A few clients that are ready to mask.
    maskings: Vec<Masking>,
    /// The mean CPU time of a client for everything but its update.
    client_time: Duration,
    /// The bytes of all messages that one client sends and receives, as JSON, without its update.
    pub message_bytes: usize,
}

/// The first line of the coordinator's file.
#[derive(Serialize, Deserialize)]
pub struct Head {
    /// The members.
    pub roster: Roster,
    /// The members that upload.
    pub survivors: Vec<u32>,
    /// The sum of the first values of the masked updates.
    pub checked: Vec<u64>,
}

/// One client's part in the opening.
struct Opened {
    opening: Opening,
    time: Duration,
    /// The first values of its masked update.
    checked: Vec<u64>,
    masking: Masking,
}

impl Exchange {
    /// Lets all clients of a round exchange their messages, on `threads` threads.
    ///
    /// # Errors
    /// If the terms are impossible for the cohort.
    pub fn new(case: Case, threads: usize) -> Result<Self, Failure> {
        let clients = clients(&case);
        let members = map(threads, case.cohort, |index| timed(|| Ok(member(&clients[index]))))?;
        let (members, key_times): (Vec<_>, Vec<Duration>) = members.into_iter().unzip();
        let roster = Roster { members };
        let joined = map(threads, case.cohort, |index| {
            timed(|| {
                let sharing = clients[index].clone().join(roster.clone(), Policy::default())?;
                let shares = sharing.shares();
                Ok((sharing, shares))
            })
        })?;
        let mut transcript = Transcript::new(context(), &case.terms(), roster.clone())?;
        let (mut sharings, mut all_shares, mut times) = (Vec::new(), Vec::new(), key_times);
        for (index, ((sharing, shares), time)) in joined.into_iter().enumerate() {
            transcript.add_shares(index as u32, shares.clone())?;
            sharings.push(Mutex::new(Some(sharing)));
            all_shares.push(shares);
            times.push(time);
        }
        let survivors = survivors(&case);
        let list = Survivors { members: survivors.clone(), agreements: Vec::new() };
        let ring = case.ring()?;
        let opened = map(threads, survivors.len(), |index| {
            let member = survivors[index];
            let sharing = sharings[member as usize].lock().ok().and_then(|mut sharing| sharing.take());
            open(sharing.ok_or("each client opens once")?, &transcript, member, &list, ring)
        })?;
        let open_time = opened.iter().map(|opened| opened.time).sum::<Duration>() / survivors.len() as u32;
        let client_time = times.iter().sum::<Duration>() / case.cohort as u32 + open_time;
        let mut checked = vec![0u64; CHECKED];
        for one in &opened {
            checked.iter_mut().zip(&one.checked).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
        }
        let first = survivors[0];
        let message_bytes = json_bytes(&roster)?
            + json_bytes(&all_shares[first as usize])?
            + json_bytes(&transcript.inbox(first))?
            + json_bytes(&opened[0].opening)?;
        let parameters = transcript.parameters();
        let (openings, maskings): (Vec<_>, Vec<_>) =
            opened.into_iter().map(|opened| (opened.opening, opened.masking)).unzip();
        let maskings = maskings.into_iter().take(MEASURED).collect();
        let head = Head { roster, survivors, checked };
        Ok(Self {
            case,
            parameters,
            head,
            shares: all_shares,
            openings,
            maskings,
            client_time,
            message_bytes,
        })
    }

    /// Returns a masked update of this length, and the mean CPU time of a client for its whole part.
    ///
    /// # Errors
    /// If the kernel does not report CPU time.
    pub fn update(&self, values: usize) -> Result<(Vec<u8>, Duration), Failure> {
        let (ring, plain) = (self.case.ring()?, vec![VALUE; values]);
        let (mut update, mut spent) = (Vec::new(), Duration::ZERO);
        for masking in &self.maskings {
            let (masked, time) = timed(|| Ok(masking.masks().mask(ring, &plain, &EXTRAS)))?;
            update = masked;
            spent += time;
        }
        Ok((update, self.client_time + spent / self.maskings.len() as u32))
    }

    /// Writes the messages to a file for the coordinator: a line for the head, for the shares of each client, and for the opening of
    /// each survivor.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{}", serde_json::to_string(&self.head)?)?;
        for shares in &self.shares {
            writeln!(file, "{}", serde_json::to_string(shares)?)?;
        }
        for opening in &self.openings {
            writeln!(file, "{}", serde_json::to_string(opening)?)?;
        }
        Ok(file.flush()?)
    }
}

fn json_bytes(message: &impl Serialize) -> Result<usize, Failure> {
    Ok(serde_json::to_vec(message)?.len())
}

fn clients(case: &Case) -> Vec<Advertising> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut clients: Vec<Advertising> = (0..case.cohort)
        .map(|_| Advertising {
            context: context(),
            terms: case.terms(),
            assignment_id: AssignmentId::from_random_bytes(rng.random()),
            root: Root::new(rng.random()),
        })
        .collect();
    clients.sort_by_key(|client| client.assignment_id);
    clients
}

fn member(client: &Advertising) -> Member {
    let Draft::Ready(SecureMessage::Keys { advertisement }) = client.keys() else {
        unreachable!("the coordinator is curious, so keys need no signature")
    };
    Member { assignment_id: client.assignment_id, advertisement }
}

/// Returns the clients that upload, ascending.
fn survivors(case: &Case) -> Vec<u32> {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut order: Vec<u32> = (0..case.cohort as u32).collect();
    shuffle(&mut order, &mut rng);
    let mut survivors = order[case.vanished()..].to_vec();
    survivors.sort_unstable();
    survivors
}

fn open(
    sharing: Sharing,
    transcript: &Transcript,
    member: u32,
    survivors: &Survivors,
    ring: Ring,
) -> Result<Opened, Failure> {
    let inbox = transcript.inbox(member);
    let ((masking, opening), time) = timed(|| {
        let masking = sharing.receive(&inbox)?;
        let (opening, _) = masking.open(survivors, None)?;
        Ok((masking, opening))
    })?;
    let masked = masking.masks().mask(ring, &[VALUE; CHECKED], &EXTRAS);
    let mut checked = Vec::new();
    Unpacker::new(ring, CHECKED as u64).push(&masked, &mut checked);
    Ok(Opened { opening, time, checked, masking })
}
