use std::collections::{BTreeMap, BTreeSet};

use folkmoot_protocol::{
    AssignmentId, BlobDigest, RoundId, TaskId, ValueGrid,
    secure::{Identity, Member, Roster, SecureMessage, SecureTerms, Survivors, Threat},
    signing::encode_public_key,
};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::{
    Advertising, Context, Masking, Policy, RecoverError, Refusal, Ring, Root, Segment, Sharing, Transcript,
    Unpacker,
};

/// The number of extras in the tests' updates.
pub const EXTRAS: usize = 3;

/// The sums of the values and of the extras.
pub type Sum = (Vec<i64>, [u64; EXTRAS]);

pub fn context(round: u8) -> Context {
    Context {
        task_id: TaskId::from_random_bytes([1; 16]),
        round_id: RoundId::from_random_bytes([round; 16]),
        plan: BlobDigest::of(b"plan"),
        weights: BlobDigest::of(b"weights"),
    }
}

pub fn terms(threat: Threat) -> SecureTerms {
    SecureTerms {
        cohort_min: 3,
        cohort_max: 1000,
        corrupt_share: 0.1,
        dropout_share: 0.2,
        threat,
        is_weighted: false,
        noise: None,
    }
}

/// The members that vanish, by the last step that they take part in.
#[derive(Clone, Debug, Default)]
pub struct DropOuts {
    pub after_keys: BTreeSet<u32>,
    pub after_shares: BTreeSet<u32>,
    pub after_upload: BTreeSet<u32>,
}

/// A round whose members have exchanged keys and shares.
pub struct World {
    pub context: Context,
    pub terms: SecureTerms,
    pub ring: Ring,
    pub roster: Roster,
    pub transcript: Transcript,
    /// The members that continue after the shares.
    pub masking: BTreeMap<u32, Masking>,
    pub values: Vec<Vec<i64>>,
    pub extras: Vec<[u64; EXTRAS]>,
    keys: BTreeMap<AssignmentId, ed25519_dalek::SigningKey>,
}

/// Returns clients with their secrets, by ascending assignment id.
pub fn clients(context: Context, terms: SecureTerms, count: usize, rng: &mut impl Rng) -> Vec<Advertising> {
    let mut clients: Vec<Advertising> = (0..count)
        .map(|_| Advertising {
            context,
            terms,
            assignment_id: AssignmentId::from_random_bytes(rng.random()),
            root: Root::new(rng.random()),
        })
        .collect();
    clients.sort_by_key(|advertising| advertising.assignment_id);
    clients
}

pub fn identity(key: &ed25519_dalek::SigningKey, text: &str) -> Identity {
    Identity { public_key: encode_public_key(key), signature: signature(key, text) }
}

/// Returns a client as the roster lists it.
pub fn member(advertising: &Advertising, sign: impl FnOnce(&str) -> Identity) -> Member {
    let SecureMessage::Keys { advertisement } = advertising.keys().sign_with(sign) else {
        panic!("keys are keys")
    };
    Member { assignment_id: advertising.assignment_id, advertisement }
}

fn signature(key: &ed25519_dalek::SigningKey, text: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use ed25519_dalek::Signer;
    STANDARD.encode(key.sign(text.as_bytes()).to_bytes())
}

impl World {
    pub fn new(count: usize, length: usize, terms: SecureTerms, drop_outs: &DropOuts, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let context = context(9);
        let clients = clients(context, terms, count, &mut rng);
        let mut keys = BTreeMap::new();
        let members = clients.iter().map(|advertising| {
            let key = ed25519_dalek::SigningKey::from_bytes(&rng.random());
            keys.insert(advertising.assignment_id, key.clone());
            member(advertising, |text| identity(&key, text))
        });
        let roster = Roster { members: members.collect() };
        let mut transcript = Transcript::new(context, &terms, roster.clone()).unwrap();
        let mut joined: BTreeMap<u32, Sharing> = BTreeMap::new();
        for advertising in clients {
            let one = advertising.join(roster.clone(), Policy::default()).unwrap();
            if !drop_outs.after_keys.contains(&one.index()) {
                transcript.add_shares(one.index(), one.shares()).unwrap();
                joined.insert(one.index(), one);
            }
        }
        let grid = ValueGrid { fraction_bits: 16, value_max: 2.0, weight_max: 1 };
        let ring = Ring::for_sum(&grid, count as u64).unwrap();
        let values = (0..count).map(|_| (0..length).map(|_| rng.random_range(-131_072..=131_072)).collect());
        let values = values.collect();
        let extras = (0..count).map(|_| [rng.random(), 1, rng.random_range(0..100)]).collect();
        let masking = joined
            .into_iter()
            .filter(|(member, _)| !drop_outs.after_shares.contains(member))
            .map(|(member, one)| (member, one.receive(&transcript.inbox(member)).unwrap()))
            .collect();
        Self { context, terms, ring, roster, transcript, masking, values, extras, keys }
    }

    /// Returns the update that a member sends.
    pub fn masked(&self, member: u32) -> Vec<u8> {
        let (values, extras) = (&self.values[member as usize], &self.extras[member as usize]);
        self.masking[&member].masks().mask(self.ring, values, extras)
    }

    pub fn unpacked(&self, bytes: &[u8]) -> (Vec<u64>, [u64; EXTRAS]) {
        let mut unpacker = Unpacker::new(self.ring, self.values[0].len() as u64);
        let mut elements = Vec::new();
        let rest = unpacker.push(bytes, &mut elements);
        let mut extras = rest.as_chunks::<8>().0.iter().map(|extra| u64::from_le_bytes(*extra));
        (elements, std::array::from_fn(|_| extras.next().unwrap()))
    }

    /// Adds the updates that members send, without removing any mask.
    pub fn masked_sum(&self, members: &[u32]) -> (Vec<u64>, [u64; EXTRAS]) {
        let mut sum = vec![0u64; self.values[0].len()];
        let mut extras = [0u64; EXTRAS];
        for member in members {
            let (elements, tail) = self.unpacked(&self.masked(*member));
            sum.iter_mut().zip(elements).for_each(|(sum, element)| *sum = sum.wrapping_add(element));
            extras.iter_mut().zip(tail).for_each(|(sum, extra)| *sum = sum.wrapping_add(extra));
        }
        (sum, extras)
    }

    pub fn signed(&self, members: &[u32]) -> Survivors {
        let unsigned = Survivors { members: members.to_vec(), agreements: Vec::new() };
        if self.terms.threat != Threat::Malicious {
            return unsigned;
        }
        let agreements = members.iter().filter_map(|member| {
            let text = self.masking[member].agreement(&unsigned, None).ok()?;
            let id = self.roster.members[*member as usize].assignment_id;
            Some((*member, signature(&self.keys[&id], &text)))
        });
        Survivors { agreements: agreements.collect(), ..unsigned.clone() }
    }

    /// Runs the end of the round: `survivors` have uploaded, and those that are not in `gone` open their shares.
    pub fn unmask(
        &self,
        survivors: &[u32],
        gone: &BTreeSet<u32>,
    ) -> Result<Result<Sum, RecoverError>, Refusal> {
        let signed = self.signed(survivors);
        let mut unmasking = self.transcript.unmasking(survivors);
        for member in survivors.iter().filter(|member| !gone.contains(member)) {
            let (opening, _) = self.masking[member].open(&signed, None)?;
            unmasking.add(*member, &opening).unwrap();
        }
        let masks = match unmasking.recover() {
            Ok(masks) => masks,
            Err(error) => return Ok(Err(error)),
        };
        let (mut sum, mut extras) = self.masked_sum(survivors);
        masks.add_to(Segment::Values(self.ring), 0, &mut sum);
        masks.add_to(Segment::Extras, 0, &mut extras);
        let sum = sum.into_iter().map(|element| self.ring.lift(self.ring.reduce(element)));
        Ok(Ok((sum.collect(), extras)))
    }

    /// Computes the sum of the plain updates.
    pub fn plain_sum(&self, members: &[u32]) -> Sum {
        let value = |at: usize| members.iter().map(|member| self.values[*member as usize][at]).sum();
        let extra = |at: usize| {
            members.iter().fold(0u64, |sum, member| sum.wrapping_add(self.extras[*member as usize][at]))
        };
        ((0..self.values[0].len()).map(value).collect(), std::array::from_fn(extra))
    }
}
