//! Attacks of a coordinator, and of members that collude with it. Each is refused with its own code.

use std::collections::BTreeSet;

use curve25519_dalek::Scalar;
use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    BlobDigest,
    secure::{
        IncomingShare, Opening, Roster, SealedShares, SecureMessage, SecureTerms, ShareCommitment,
        SharedSecret, StepKey, Survivors, Threat,
    },
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroizing;

use super::world::{DropOuts, World, clients, context, identity, member, terms};
use crate::{
    Advertising, Agreed, Context, Draft, Journal, JournalError, Masks, MessageFault, Policy, RecoverError,
    Segment, Setting, Sharing, Transcript,
};

const CURIOUS: Threat = Threat::HonestButCurious;

fn world(threat: Threat) -> World {
    World::new(10, 16, terms(threat), &DropOuts::default(), 4)
}

fn list(members: impl IntoIterator<Item = u32>) -> Survivors {
    Survivors { members: members.into_iter().collect(), agreements: Vec::new() }
}

/// Returns the first client of a fresh round and the honest roster.
fn first(count: usize, terms: SecureTerms) -> (Advertising, Roster) {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let clients = clients(context(9), terms, count, &mut rng);
    let members = clients.iter().map(|one| {
        let key = SigningKey::from_bytes(&rng.random());
        member(one, |text| identity(&key, text))
    });
    let roster = Roster { members: members.collect() };
    (clients.into_iter().next().unwrap(), roster)
}

fn code_of_join(terms: SecureTerms, policy: Policy, change: impl FnOnce(&mut Roster)) -> &'static str {
    let (client, mut roster) = first(10, terms);
    assert!(
        client.clone().join(roster.clone(), Policy::default()).is_ok(),
        "the unchanged roster is accepted"
    );
    change(&mut roster);
    client.join(roster, policy).err().expect("a changed roster is refused").code()
}

#[test]
fn rosters_that_break_the_terms_are_refused() {
    let code = |change: fn(&mut Roster)| code_of_join(terms(CURIOUS), Policy::default(), change);
    // A cohort of one honest client, or a truncated list.
    assert_eq!(code(|roster| roster.members.truncate(2)), "cohort_too_small");
    assert_eq!(code_of_join(terms(CURIOUS), Policy { cohort_min: 11 }, |_| ()), "cohort_too_small");
    assert_eq!(code(|roster| roster.members.reverse()), "roster_order");
    assert_eq!(code(|roster| roster.members[2] = roster.members[1].clone()), "roster_order");
    assert_eq!(code(|roster| drop(roster.members.remove(0))), "own_keys_missing");
    // Equivocation: others would see other keys of this client.
    assert_eq!(
        code(|roster| roster.members[0].advertisement.mask_key = StepKey([9; 32])),
        "own_keys_missing"
    );
    // The same key for two members, so that one pair's mask is another's.
    let repeated = |roster: &mut Roster| {
        roster.members[3].advertisement.mask_key = roster.members[2].advertisement.mask_key;
    };
    assert_eq!(code(repeated), "weak_or_repeated_key");
    for point in [
        [0; 32],
        {
            let mut one = [0; 32];
            one[0] = 1;
            one
        },
        {
            // 2^255 - 19 - 1, of order 2.
            let mut minus_one = [0xff; 32];
            (minus_one[0], minus_one[31]) = (0xec, 0x7f);
            minus_one
        },
    ] {
        let weak = move |roster: &mut Roster| roster.members[4].advertisement.channel_key = StepKey(point);
        assert_eq!(code_of_join(terms(CURIOUS), Policy::default(), weak), "weak_or_repeated_key");
    }
}

#[test]
fn a_malicious_coordinator_cannot_invent_members() {
    let code = |change: fn(&mut Roster)| code_of_join(terms(Threat::Malicious), Policy::default(), change);
    assert_eq!(code(|roster| roster.members[5].advertisement.identity = None), "identity_invalid");
    // A replayed advertisement of another assignment or round has a signature for another text.
    assert_eq!(
        code(|roster| roster.members[5].advertisement.identity =
            roster.members[6].advertisement.identity.clone()),
        "identity_invalid"
    );
    assert_eq!(
        code(|roster| roster.members[5].advertisement.mask_key = StepKey([9; 32])),
        "identity_invalid"
    );
}

#[test]
fn terms_that_no_graph_can_hold_are_refused() {
    let (client, roster) = first(10, terms(CURIOUS));
    let terms = SecureTerms { corrupt_share: 0.5, threat: Threat::Malicious, ..terms(CURIOUS) };
    let client = Advertising { terms, ..client };
    assert_eq!(client.join(roster, Policy::default()).err().unwrap().code(), "identity_invalid");
}

fn code_of_receive(change: impl FnOnce(&mut Vec<IncomingShare>)) -> &'static str {
    let world = world(CURIOUS);
    let client = first_of(&world);
    let mut shares = world.transcript.inbox(0);
    change(&mut shares);
    client.receive(&shares).err().expect("changed shares are refused").code()
}

/// Rebuilds the first member of a world, which draws its secrets first.
fn first_of(world: &World) -> Sharing {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let client = clients(world.context, world.terms, 10, &mut rng).into_iter().next().unwrap();
    client.join(world.roster.clone(), Policy::default()).unwrap()
}

#[test]
fn shares_that_were_not_sent_are_refused() {
    assert_eq!(code_of_receive(|shares| shares.push(shares[0])), "share_unexpected");
    assert_eq!(code_of_receive(|shares| shares[0].from = 0), "share_unexpected");
    assert_eq!(code_of_receive(|shares| shares.truncate(4)), "too_few_shares");
    // Shares of another member, damaged shares, and shares that do not match their commitment cannot be read. The
    // coordinator could then recover nothing, so the client stops if there are too many of them.
    assert_eq!(
        code_of_receive(|shares| shares[..5].iter_mut().for_each(|share| share.sealed.0[3] ^= 1)),
        "too_few_shares"
    );
    let wrong = |shares: &mut Vec<IncomingShare>| {
        shares[..5].iter_mut().for_each(|share| share.mask_key = ShareCommitment([1; 32]));
    };
    assert_eq!(code_of_receive(wrong), "too_few_shares");
    let swapped = |shares: &mut Vec<IncomingShare>| {
        let sealed: Vec<SealedShares> = shares.iter().map(|share| share.sealed).collect();
        shares
            .iter_mut()
            .zip(sealed.iter().cycle().skip(1))
            .for_each(|(share, sealed)| share.sealed = *sealed);
    };
    assert_eq!(code_of_receive(swapped), "too_few_shares");
}

#[test]
fn a_few_unreadable_shares_do_not_stop_a_round() {
    let world = world(CURIOUS);
    let client = first_of(&world);
    let mut shares = world.transcript.inbox(0);
    shares[2].sealed.0[70] ^= 1;
    let masking = client.receive(&shares).unwrap();
    let (opening, _) = masking.open(&list(0..10), None).unwrap();
    assert_eq!(opening.self_masks.len(), 8, "nine neighbours, one of them unreadable");
}

#[test]
fn clients_with_different_rosters_cannot_read_each_others_shares() {
    let world = world(CURIOUS);
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let client = clients(world.context, world.terms, 10, &mut rng).into_iter().next().unwrap();
    // The last member has another self mask in the roster that this client sees.
    let mut other = world.roster.clone();
    other.members[9].advertisement.self_mask = ShareCommitment([7; 32]);
    let refused = client.join(other, Policy::default()).unwrap().receive(&world.transcript.inbox(0));
    assert_eq!(refused.err().unwrap().code(), "too_few_shares");
}

#[test]
fn both_kinds_of_shares_of_a_member_are_never_opened() {
    let world = world(CURIOUS);
    let client = &world.masking[&0];
    let (opening, answered) = client.open(&list(0..10), None).unwrap();
    assert_eq!((opening.self_masks.len(), opening.mask_keys.len()), (9, 0));
    // The coordinator now says that member 9 has vanished, to get its mask key, too.
    let refused = client.open(&list(0..9), Some(&answered)).unwrap_err();
    assert_eq!(refused.code(), "answered_before");
    assert_eq!(
        client.open(&list(0..10), Some(&answered)).unwrap().0,
        opening,
        "a repeated answer is the same"
    );
    let (opening, _) = client.open(&list(0..8), None).unwrap();
    assert_eq!((opening.self_masks.len(), opening.mask_keys.len()), (7, 2));
}

#[test]
fn false_survivors_are_refused() {
    let drop_outs = DropOuts { after_keys: BTreeSet::from([9]), ..DropOuts::default() };
    let world = World::new(10, 4, terms(CURIOUS), &drop_outs, 4);
    let code =
        |survivors: Survivors, before| world.masking[&0].open(&survivors, before).err().unwrap().code();
    assert_eq!(code(list(0..10), None), "survivor_unexpected", "member 9 has sent no shares");
    assert_eq!(code(list([0, 1, 1, 2, 3, 4, 5]), None), "survivor_unexpected");
    assert_eq!(code(list([1, 0, 2, 3, 4, 5]), None), "survivor_unexpected");
    assert_eq!(code(list([0, 1, 2, 3, 4, 5, 10]), None), "survivor_unexpected");
    assert_eq!(code(list(1..9), None), "own_update_missing");
    assert_eq!(code(list([0, 1]), None), "cohort_too_small");
    // Ten members may lose two. With more, the honest survivors of a sparse graph could fall apart.
    assert_eq!(code(list(0..7), None), "cohort_too_small");
    assert_eq!(code(list(0..9), Some(&Agreed((0..8).collect()))), "answered_before");
}

#[test]
fn different_survivor_lists_cannot_both_gather_enough_signatures() {
    let world = world(Threat::Malicious);
    let client = &world.masking[&0];
    let threshold = world.transcript.parameters().threshold as usize;
    let (all, fewer) = (world.signed(&(0..10).collect::<Vec<_>>()), list(0..9));
    assert!(client.open(&all, None).is_ok());
    // Honest members sign one list only. The coordinator shows them lists as it likes, and has one colluding member.
    let split = |agreements: Vec<(u32, String)>| Survivors { agreements, ..fewer.clone() };
    let signed = world.signed(&(0..9).collect::<Vec<_>>());
    let half: Vec<_> =
        signed.agreements.iter().filter(|(member, _)| *member != 0).take(threshold - 1).cloned().collect();
    assert_eq!(client.open(&split(half.clone()), None).unwrap_err().code(), "survivors_not_agreed");
    // Repeated signatures, and signatures over the other list, do not count.
    let repeated = half.iter().chain(&half).cloned().collect();
    assert_eq!(client.open(&split(repeated), None).unwrap_err().code(), "survivors_not_agreed");
    assert_eq!(client.open(&split(all.agreements), None).unwrap_err().code(), "survivors_not_agreed");
    assert!(client.open(&signed, None).is_ok());
    assert_eq!(
        client.agreement(&fewer, Some(&Agreed((0..10).collect()))).unwrap_err().code(),
        "answered_before"
    );
}

#[test]
fn the_coordinator_recognises_wrong_shares_and_names_the_member() {
    let world = world(CURIOUS);
    let members: Vec<u32> = (0..10).collect();
    let mut unmasking = world.transcript.unmasking(&members);
    let (mut opening, _) = world.masking[&3].open(&list(0..10), None).unwrap();
    let honest = opening.clone();
    opening.self_masks[2].1 = SharedSecret([1; 32]);
    let owner = opening.self_masks[2].0;
    assert_eq!(unmasking.add(3, &opening), Err(MessageFault::WrongShare { owner }));
    let other = Opening { mask_keys: honest.self_masks.clone(), ..Opening::default() };
    assert_eq!(unmasking.add(3, &other), Err(MessageFault::NotAsked { owner: 0 }));
    let (mut partial, mut repeated) = (honest.clone(), honest.clone());
    let (owner, _) = partial.self_masks.remove(4);
    assert_eq!(unmasking.add(3, &partial), Err(MessageFault::Unaccounted { owner }));
    repeated.unreadable.push(owner);
    assert_eq!(unmasking.add(3, &repeated), Err(MessageFault::Unaccounted { owner }));
    assert_eq!(unmasking.add(3, &honest), Ok(()));
    let short = Vec::new();
    let mut transcript = Transcript::new(world.context, &world.terms, world.roster.clone()).unwrap();
    assert_eq!(transcript.add_shares(3, short), Err(MessageFault::Recipients { found: 0, neighbours: 9 }));
}

#[test]
fn a_member_that_shares_another_secret_is_blamed() {
    let terms = terms(CURIOUS);
    let clients = clients(context(9), terms, 10, &mut ChaCha20Rng::seed_from_u64(4));
    let unsigned = |one: &Advertising| member(one, |_| unreachable!("the coordinator is curious"));
    let roster = Roster { members: clients.iter().map(unsigned).collect() };
    let join = |one: Advertising| one.join(roster.clone(), Policy::default()).unwrap();
    let mut joined: Vec<_> = clients.into_iter().map(join).collect();
    joined[0].secrets.self_mask_seed = Zeroizing::new(Scalar::from(5u8));
    let mut transcript = Transcript::new(context(9), &terms, roster.clone()).unwrap();
    joined.iter().for_each(|one| transcript.add_shares(one.index(), one.shares()).unwrap());
    let members: Vec<u32> = (0..10).collect();
    let mut unmasking = transcript.unmasking(&members);
    for one in joined {
        let index = one.index();
        let (opening, _) = one.receive(&transcript.inbox(index)).unwrap().open(&list(0..10), None).unwrap();
        unmasking.add(index, &opening).unwrap();
    }
    assert_eq!(unmasking.recover().err(), Some(RecoverError::FalseShares { owner: 0 }));
}

#[test]
fn a_late_update_stays_masked_by_its_own_mask() {
    // Member 9 was declared as dropped and its mask key was recovered. Then its update arrives.
    let world = world(CURIOUS);
    let survivors: Vec<u32> = (0..9).collect();
    let mut unmasking = world.transcript.unmasking(&survivors);
    for member in &survivors {
        let (opening, _) = world.masking[member].open(&list(0..9), None).unwrap();
        unmasking.add(*member, &opening).unwrap();
    }
    let masks = unmasking.recover().unwrap();
    assert_eq!(masks.len(), 9 + 9, "a self mask of each survivor, and its mask with member 9");
    let (late, _) = world.unpacked(&world.masked(9));
    // The coordinator removes all nine pair masks, which it knows by now.
    let mut pairs = Masks::default();
    masks.masks[9..].iter().for_each(|(seed, sign)| pairs.push(seed.clone(), sign.opposite()));
    let mut opened = late.clone();
    pairs.add_to(Segment::Values(world.ring), 0, &mut opened);
    let lifted = opened.iter().map(|element| world.ring.lift(world.ring.reduce(*element)));
    let same = lifted.zip(&world.values[9]).filter(|(found, value)| found == *value).count();
    assert_eq!(same, 0, "the self mask remains");
}

#[test]
fn another_model_plan_or_round_gives_other_masks() {
    let world = world(CURIOUS);
    let honest = world.masked(0);
    let other = Context { weights: BlobDigest::of(b"other weights"), ..world.context };
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let client = clients(other, world.terms, 10, &mut rng).into_iter().next().unwrap();
    // The keys derive from the context, too: a client that was given other weights is not in this roster.
    assert_eq!(
        client.join(world.roster.clone(), Policy::default()).err().unwrap().code(),
        "own_keys_missing"
    );
    let next = World::new(10, 16, world.terms, &DropOuts::default(), 5);
    assert_ne!(next.masked(0), honest);
}

#[test]
fn another_roster_or_other_shares_after_a_restart_are_refused() {
    let (client, roster) = first(10, terms(CURIOUS));
    let Advertising { context, terms, assignment_id, .. } = client;
    let setting = Setting { context, terms, assignment_id, policy: Policy::default() };
    let key = [3; 32];
    let mut journal = Journal::new([7; 32], &key, assignment_id);
    let draft = journal.keys(&setting, &key).unwrap();
    let Draft::Ready(SecureMessage::Keys { advertisement }) = draft else {
        panic!("the keys need no signature")
    };
    let mut roster = roster;
    roster.members[0].advertisement = advertisement;
    journal.take_roster(&setting, &key, roster.clone()).unwrap();
    // The client restarts: it reads its journal, and is shown the roster again.
    let mut journal: Journal = serde_json::from_slice(&serde_json::to_vec(&journal).unwrap()).unwrap();
    journal.take_roster(&setting, &key, roster.clone()).unwrap();
    let fewer = Roster { members: roster.members[..9].to_vec() };
    assert_eq!(journal.take_roster(&setting, &key, fewer), Err(JournalError::Changed));
    assert_eq!(journal.shares(&setting, &[4; 32]).err(), Some(JournalError::OtherKey));
    assert_eq!(journal.masking(&setting, &key).err(), Some(JournalError::Missing));
}

#[test]
fn a_client_whose_neighbours_are_missing_opens_nothing() {
    // A third may drop out, but the coordinator says that they are all neighbours of this client.
    let terms = SecureTerms { corrupt_share: 0.0, dropout_share: 0.3, ..terms(CURIOUS) };
    let world = World::new(200, 1, terms, &DropOuts::default(), 4);
    let client = &world.masking[&0];
    let neighbours: Vec<u32> = world.transcript.inbox(0).iter().map(|share| share.from).collect();
    let threshold = world.transcript.parameters().threshold as usize;
    assert!(
        neighbours.len() < 199 && neighbours.len() - threshold < 60,
        "a sparse graph, within the drop-outs"
    );
    let without = |missing: &[u32]| list((0..200).filter(|member| !missing.contains(member)));
    assert!(client.open(&without(&neighbours[threshold..]), None).is_ok());
    let refused = client.open(&without(&neighbours[threshold - 1..]), None);
    assert_eq!(refused.err().unwrap().code(), "too_few_neighbours");
}
