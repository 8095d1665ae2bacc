//! Masks that a committee removes: the part of a client, and the part of a member.

use std::time::Duration;

use folkmoot_protocol::{
    AssignmentId,
    secure::{CommitteeKey, CommitteeTerms, SealedClient},
};
use folkmoot_secure_aggregation::{
    CommitteeSecret, Dealing, MemberRound, Root, mask_for_committee, packed_bytes,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

use super::{
    case::{Case, EXTRAS, VALUE, context, ring, stream_bytes},
    coordinator::remove,
    cpu::{map, timed},
};
use crate::Failure;

/// The committees: members, and how many of them may collude.
pub const COMMITTEES: [(usize, u32); 2] = [(3, 1), (5, 2)];
/// The number of clients that mask a whole update.
const MEASURED: usize = 3;
/// The length of a member's signing key, which takes no part here.
const IDENTITY_BYTES: usize = 32;

/// A client that masks for a committee.
#[derive(Debug, Serialize)]
pub struct ClientRow {
    /// The number of members.
    pub members: usize,
    /// The number of members that may collude.
    pub colluders: u32,
    /// The number of masks of a client.
    pub masks: u32,
    /// The number of values of an update.
    pub values: usize,
    /// The CPU time of a client: masks, and their seeds for the members.
    pub client_seconds: f64,
    /// The bytes of its only message, divided by those of its packed values.
    pub update_ratio: f64,
}

/// A member that sums the masks of all clients.
#[derive(Debug, Serialize)]
pub struct MemberRow {
    /// The number of members.
    pub members: usize,
    /// The number of members that may collude.
    pub colluders: u32,
    /// The number of clients.
    pub clients: usize,
    /// The number of values of an update.
    pub values: usize,
    /// The number of masks that the member sums, of all clients together.
    pub masks: usize,
    /// The CPU time to decrypt the seeds.
    pub decrypt_seconds: f64,
    /// The CPU time to sum the masks.
    pub sum_seconds: f64,
    /// The wall-clock time to sum the masks, on all threads.
    pub sum_wall_seconds: f64,
    /// The member's key stream per CPU second, divided by that of the cipher alone.
    pub sum_bandwidth: f64,
}

/// A committee, and the secret of its first member.
pub struct Committee {
    terms: CommitteeTerms,
    secret: CommitteeSecret,
    key: CommitteeKey,
}

impl Committee {
    /// Creates a committee for at most `clients` clients.
    pub fn new((members, colluders): (usize, u32), clients: usize) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let secrets: Vec<CommitteeSecret> =
            (0..members).map(|_| CommitteeSecret::new(rng.random())).collect();
        let keys: Vec<CommitteeKey> =
            secrets.iter().map(|secret| secret.public_key([0; IDENTITY_BYTES])).collect();
        let sum = Case { cohort: clients, drop_out: 0.3 }.terms();
        let (secret, key) = (secrets[0].clone(), keys[0]);
        Self { terms: CommitteeTerms { members: keys, colluders, sum }, secret, key }
    }

    /// Measures clients.
    ///
    /// # Errors
    /// If the terms are invalid.
    pub fn measure_client(&self, clients: usize, values: usize) -> Result<ClientRow, Failure> {
        let (ring, plain) = (ring(clients)?, vec![VALUE; values]);
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let (mut spent, mut bytes) = (Duration::ZERO, 0);
        for _ in 0..MEASURED {
            let (assignment_id, root) = client(&mut rng);
            let (length, time) = timed(|| {
                let masks = mask_for_committee(&context(), &self.terms, assignment_id, &root)?;
                Ok(masks.masks.mask(ring, &plain, &EXTRAS).len() + masks.seal.0.len())
            })?;
            bytes = length;
            spent += time;
        }
        Ok(ClientRow {
            members: self.terms.members.len(),
            colluders: self.terms.colluders,
            masks: Dealing::of(&self.terms).masks(),
            values,
            client_seconds: (spent / MEASURED as u32).as_secs_f64(),
            update_ratio: bytes as f64 / packed_bytes(ring, values as u64) as f64,
        })
    }

    /// Measures the first member, while all members are present.
    ///
    /// # Errors
    /// If the terms are invalid.
    pub fn measure_member(
        &self,
        clients: usize,
        values: usize,
        (threads, cipher): (usize, f64),
    ) -> Result<MemberRow, Failure> {
        let ring = ring(clients)?;
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let mut drawn: Vec<(AssignmentId, Root)> = (0..clients).map(|_| client(&mut rng)).collect();
        drawn.sort_by_key(|(assignment_id, _)| *assignment_id);
        let sealed = map(threads, clients, |index| {
            let (assignment_id, root) = &drawn[index];
            let masks = mask_for_committee(&context(), &self.terms, *assignment_id, root)?;
            Ok(SealedClient { assignment_id: *assignment_id, seal: masks.seal })
        })?;
        let dealing = Dealing::of(&self.terms);
        let all: Vec<u32> = (0..dealing.masks()).collect();
        let present: Vec<u32> = (0..self.terms.size()).collect();
        let split = dealing.split(&all, &present).ok_or("all members are present")?;
        let own = split.get(&0).ok_or("the first member sums masks")?;
        let member = MemberRound::new(&self.secret, &self.key, context(), &self.terms)?;
        let (masks, decrypted) = timed(|| Ok(member.masks(&sealed, own)?))?;
        let mut sum = vec![0u64; values];
        let summed = remove(&masks, ring, &mut sum, threads)?;
        let seconds = summed.cpu.as_secs_f64();
        Ok(MemberRow {
            members: self.terms.members.len(),
            colluders: self.terms.colluders,
            clients,
            values,
            masks: masks.len(),
            decrypt_seconds: decrypted.as_secs_f64(),
            sum_seconds: seconds,
            sum_wall_seconds: summed.wall.as_secs_f64(),
            sum_bandwidth: stream_bytes(ring, masks.len(), values) / seconds / cipher,
        })
    }
}

fn client(rng: &mut ChaCha20Rng) -> (AssignmentId, Root) {
    (AssignmentId::from_random_bytes(rng.random()), Root::new(rng.random()))
}
