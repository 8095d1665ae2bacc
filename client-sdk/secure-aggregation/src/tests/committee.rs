//! Masks that a committee removes: sums with any members that answer, and questions that a member refuses.

use ed25519_dalek::{Signer, SigningKey};
use folkmoot_protocol::{
    AssignmentId, BlobDigest, ValueGrid,
    secure::{
        CommitteeFault, CommitteeKey, CommitteeSeal, CommitteeTerms, SealedClient, SecureTerms, Threat,
    },
};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::world::context;
use crate::{
    CommitteeError, CommitteeSecret, Context, Dealing, MemberRound, Ring, Root, Segment, Unpacker,
    agreement_text, check_agreements, mask_for_committee, seal_bytes,
};

const EXTRAS: usize = 5;

fn members(count: usize) -> Vec<(CommitteeSecret, SigningKey)> {
    let mut rng = ChaCha20Rng::seed_from_u64(77);
    (0..count).map(|_| (CommitteeSecret::new(rng.random()), SigningKey::from_bytes(&rng.random()))).collect()
}

fn key((secret, identity): &(CommitteeSecret, SigningKey)) -> CommitteeKey {
    secret.public_key(identity.verifying_key().to_bytes())
}

/// Returns the terms of a committee of `members`, given by their secrets.
pub fn terms(members: usize, colluders: u32) -> CommitteeTerms {
    CommitteeTerms {
        members: self::members(members).iter().map(key).collect(),
        colluders,
        sum: SecureTerms {
            cohort_min: 3,
            cohort_max: 1000,
            corrupt_share: 0.1,
            dropout_share: 0.9,
            threat: Threat::HonestButCurious,
            is_weighted: false,
            noise: None,
        },
    }
}

/// A round whose clients have uploaded.
struct World {
    context: Context,
    terms: CommitteeTerms,
    members: Vec<(CommitteeSecret, SigningKey)>,
    ring: Ring,
    values: Vec<Vec<i64>>,
    updates: Vec<Vec<u8>>,
    clients: Vec<SealedClient>,
}

impl World {
    fn new(terms: CommitteeTerms, clients: usize, length: usize, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let context = context(9);
        let grid = ValueGrid { fraction_bits: 16, value_max: 2.0, weight_max: 1 };
        let ring = Ring::for_sum(&grid, clients as u64).unwrap();
        let mut ids: Vec<AssignmentId> =
            (0..clients).map(|_| AssignmentId::from_random_bytes(rng.random())).collect();
        ids.sort_unstable();
        let members = members(terms.members.len());
        let mut world =
            Self { context, terms, members, ring, values: vec![], updates: vec![], clients: vec![] };
        for assignment_id in ids {
            let root = Root::new(rng.random());
            let masks = mask_for_committee(&context, &world.terms, assignment_id, &root).unwrap();
            assert_eq!(masks.seal.0.len(), seal_bytes(&world.terms));
            let values: Vec<i64> = (0..length).map(|_| rng.random_range(-131_072..=131_072)).collect();
            world.updates.push(masks.masks.mask(ring, &values, &[1; EXTRAS]));
            world.values.push(values);
            world.clients.push(SealedClient { assignment_id, seal: masks.seal });
        }
        world
    }

    fn member(&self, index: usize) -> MemberRound<'_> {
        let (secret, _) = &self.members[index];
        MemberRound::new(secret, &self.terms.members[index], self.context, &self.terms).unwrap()
    }

    /// Adds the updates of the clients, and removes the masks with the help of the members `present`.
    fn sum(&self, clients: &[usize], present: &[u32]) -> Option<(Vec<i64>, [u64; EXTRAS])> {
        let length = self.values[0].len();
        let (mut sums, mut extras) = (vec![0u64; length], [0u64; EXTRAS]);
        for client in clients {
            let mut elements = Vec::new();
            let rest = Unpacker::new(self.ring, length as u64).push(&self.updates[*client], &mut elements);
            sums.iter_mut().zip(elements).for_each(|(sum, element)| *sum = sum.wrapping_add(element));
            let words = rest.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            extras.iter_mut().zip(words).for_each(|(sum, extra)| *sum = sum.wrapping_add(extra));
        }
        let sealed: Vec<SealedClient> = clients.iter().map(|client| self.clients[*client].clone()).collect();
        let dealing = Dealing::of(&self.terms);
        let all: Vec<u32> = (0..dealing.masks()).collect();
        for (member, masks) in dealing.split(&all, present)? {
            let masks = self.member(member as usize).masks(&sealed, &masks).unwrap();
            masks.add_to(Segment::Values(self.ring), 0, &mut sums);
            masks.add_to(Segment::Extras, 0, &mut extras);
        }
        Some((sums.iter().map(|sum| self.ring.lift(self.ring.reduce(*sum))).collect(), extras))
    }

    fn plain_sum(&self, clients: &[usize]) -> Vec<i64> {
        let length = self.values[0].len();
        (0..length).map(|at| clients.iter().map(|client| self.values[*client][at]).sum()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_sum_of_any_clients_is_the_plain_sum_with_any_members_that_are_enough(
        (count, colluders) in (2usize..=7).prop_flat_map(|count| (Just(count), 1..count as u32)),
        clients in 3usize..12, length in 0usize..60, seed in any::<u64>(), gone in any::<u8>(),
    ) {
        let world = World::new(terms(count, colluders), clients, length, seed);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let uploaded: Vec<usize> = (0..clients).filter(|_| rng.next_u32() % 4 > 0).collect();
        let present: Vec<u32> = (0..count as u32).filter(|member| gone & (1 << member) == 0).collect();
        match world.sum(&uploaded, &present) {
            Some((sum, extras)) => {
                prop_assert!(present.len() as u32 > colluders);
                prop_assert_eq!(sum, world.plain_sum(&uploaded));
                prop_assert_eq!(extras, [uploaded.len() as u64; EXTRAS]);
            }
            None => prop_assert!(present.len() as u32 <= colluders),
        }
    }
}

#[test]
fn a_thousand_clients_and_long_updates_add_up() {
    let world = World::new(terms(3, 1), 1000, 33, 5);
    let all: Vec<usize> = (0..1000).collect();
    assert_eq!(world.sum(&all, &[0, 2]).unwrap().0, world.plain_sum(&all));
    for length in [1, 7, 8, 9, 2047, 2048, 2049, 16_384, 16_385, 40_000] {
        let world = World::new(terms(3, 1), 3, length, 6);
        assert_eq!(world.sum(&[0, 1, 2], &[1, 2]).unwrap().0, world.plain_sum(&[0, 1, 2]));
    }
}

/// The colluding members and the coordinator know all masks but one. The update stays uniform in the ring under it: the counts
/// of 64 classes fit, by the chi-squared statistic (63 degrees of freedom, 103.4 is exceeded with probability 0.001). The seed is
/// fixed, so the test cannot fail by chance.
#[test]
fn what_colluding_members_know_leaves_an_update_uniform() {
    for colluder in 0..3u32 {
        let mut world = World::new(terms(3, 1), 3, 20_000, 8);
        let (context, root) = (world.context, Root::new([3; 32]));
        let id = world.clients[0].assignment_id;
        let masks = mask_for_committee(&context, &world.terms, id, &root).unwrap();
        world.updates[0] = masks.masks.mask(world.ring, &vec![0; 20_000], &[0; EXTRAS]);
        world.clients[0].seal = masks.seal;
        let mut elements = Vec::new();
        Unpacker::new(world.ring, 20_000).push(&world.updates[0], &mut elements);
        let held = Dealing::of(&world.terms).masks_of(colluder);
        let known = world.member(colluder as usize).masks(&world.clients[..1], &held).unwrap();
        known.add_to(Segment::Values(world.ring), 0, &mut elements);
        let mut counts = [0u32; 64];
        let class = |element: u64| (world.ring.reduce(element) >> (world.ring.bits() - 6)) as usize;
        elements.iter().for_each(|element| counts[class(*element)] += 1);
        let expected = 20_000.0 / 64.0;
        let statistic: f64 =
            counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        assert!(statistic < 103.4, "{colluder}: {statistic}");
    }
}

#[test]
fn seeds_of_another_round_model_plan_client_or_member_cannot_be_read() {
    let world = World::new(terms(3, 1), 3, 4, 1);
    assert_eq!(world.member(1).unreadable(&world.clients), []);
    for change in [
        |context: &mut Context| context.round_id = super::world::context(8).round_id,
        |context: &mut Context| context.plan = BlobDigest::of(b"other plan"),
        |context: &mut Context| context.weights = BlobDigest::of(b"other weights"),
    ] {
        let mut other = world.context;
        change(&mut other);
        let (secret, _) = &world.members[1];
        let member = MemberRound::new(secret, &world.terms.members[1], other, &world.terms).unwrap();
        assert_eq!(member.unreadable(&world.clients).len(), 3);
    }
    let mut swapped = world.clients.clone();
    let seal = swapped[0].seal.clone();
    swapped[0].seal = std::mem::replace(&mut swapped[1].seal, seal);
    assert_eq!(world.member(1).unreadable(&swapped).len(), 2);
    let refused = world.member(1).masks(&swapped, &[0]).err();
    assert_eq!(refused, Some(CommitteeError::Unreadable { assignment_id: swapped[0].assignment_id }));
    let mut altered = world.clients.clone();
    altered[2].seal.0[40] ^= 1;
    assert_eq!(world.member(0).unreadable(&altered), [altered[2].assignment_id]);
    assert_eq!(world.member(2).unreadable(&altered), [], "each member has a box of its own");
    for seal in [vec![], vec![0; 31], vec![0; 32], vec![0; seal_bytes(&world.terms)]] {
        altered[2].seal = CommitteeSeal(seal);
        assert_eq!(world.member(0).unreadable(&altered), [altered[2].assignment_id]);
    }
}

#[test]
fn a_member_refuses_what_could_reveal_an_update() {
    let world = World::new(terms(3, 1), 4, 4, 1);
    let member = world.member(0);
    let code = |result: Result<(), CommitteeError>| result.map_err(|error| error.code());
    assert_eq!(code(member.check_clients(&world.clients, 0)), Ok(()));
    assert_eq!(code(member.check_clients(&world.clients[..2], 0)), Err("cohort_too_small"));
    assert_eq!(
        code(member.check_clients(&world.clients, 5)),
        Err("cohort_too_small"),
        "the operator's demand"
    );
    let twice: Vec<SealedClient> = world.clients.iter().flat_map(|one| [one.clone(), one.clone()]).collect();
    assert_eq!(code(member.check_clients(&twice, 0)), Err("order"));
    let many = vec![world.clients[0].clone(); 1001];
    assert_eq!(code(member.check_clients(&many, 0)), Err("cohort_too_large"));
    // The mask that is hidden from this member, one twice, and one that nobody has.
    let held = Dealing::of(&world.terms).masks_of(0);
    let hidden = (0..3).find(|mask| !held.contains(mask)).unwrap();
    for masks in [vec![hidden], vec![99]] {
        assert_eq!(member.masks(&world.clients, &masks).err().map(|error| error.code()), Some("other_mask"));
    }
    let twice = [held[0], held[0]];
    assert_eq!(member.masks(&world.clients, &twice).err().map(|error| error.code()), Some("order"));
    let stranger = CommitteeSecret::new([5; 32]);
    let key = stranger.public_key([6; 32]);
    let round = MemberRound::new(&stranger, &key, world.context, &world.terms);
    assert_eq!(round.err(), Some(CommitteeError::NotMember));
}

#[test]
fn a_client_does_not_mask_for_a_weak_or_impossible_committee() {
    let context = context(9);
    let mask = |terms: &CommitteeTerms| {
        let id = AssignmentId::from_random_bytes([1; 16]);
        mask_for_committee(&context, terms, id, &Root::new([1; 32])).err()
    };
    let mut weak = terms(3, 1);
    weak.members[1].0[..32].fill(0);
    assert_eq!(mask(&weak), Some(CommitteeError::WeakKey { member: 1 }));
    let fault = CommitteeFault::Colluders { colluders: 3, members: 3 };
    assert_eq!(mask(&terms(3, 3)), Some(CommitteeError::Terms(fault)));
}

#[test]
fn two_lists_of_clients_are_never_both_agreed_to() {
    let mut terms = terms(4, 1);
    terms.sum.threat = Threat::Malicious;
    let world = World::new(terms, 5, 4, 1);
    let (all, fewer) = (&world.clients[..], &world.clients[..4]);
    let sign = |clients: &[SealedClient], members: &[u32]| -> Vec<(u32, String)> {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let text = agreement_text(&world.context, clients);
        let signature = |member: &u32| world.members[*member as usize].1.sign(text.as_bytes()).to_bytes();
        members.iter().map(|member| (*member, STANDARD.encode(signature(member)))).collect()
    };
    let check = |clients: &[SealedClient], agreements: &[(u32, String)]| {
        check_agreements(&world.context, &world.terms, clients, agreements)
    };
    assert_eq!(check(all, &sign(all, &[0, 1, 3])), Ok(()));
    // Member 3 colludes and signs both; of the others, each signs one.
    let too_few = Err(CommitteeError::NotAgreed { found: 2, least: 3 });
    assert_eq!(check(fewer, &sign(fewer, &[2, 3])), too_few);
    assert_eq!(check(all, &sign(all, &[1, 1, 3])), too_few, "one member counts once");
    let mut mixed = sign(fewer, &[2, 3]);
    mixed.extend(sign(all, &[0]));
    assert_eq!(check(fewer, &mixed), too_few, "a signature of another list");
    mixed.push((9, mixed[0].1.clone()));
    mixed.push((0, mixed[0].1.clone()));
    assert_eq!(check(fewer, &mixed), too_few, "signatures of others");
}
