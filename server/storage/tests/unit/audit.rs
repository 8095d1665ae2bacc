//! Tests of the private parts of `src/audit.rs`.

use super::*;

#[test]
fn retention_does_not_hide_entries_that_somebody_deleted() {
    let organisation = OrganisationId::from_random_bytes([7; 16]);
    let mut head = Head::default();
    let mut next = |act: Act| {
        let actor = Actor { by: "somebody".into(), from: None, at: Timestamp(1) };
        let (entry, after) = act.entry(actor, head).unwrap();
        head = after;
        (entry, after)
    };
    let act = || Act::new(organisation, "token.revoke", "0123456789abcdef");
    let [first, second, third] = [next(act()), next(act()), next(act())];
    let prune = next(Act::audit_pruned(organisation, first.1));
    let last = |oldest: &[&Entry], newest_prune| {
        let oldest: Vec<Entry> = oldest.iter().copied().cloned().collect();
        last_before(&oldest, newest_prune, Timestamp(2))
    };
    assert_eq!(last(&[&first.0, &second.0], None).unwrap(), Some((second.1, 2)));
    assert_eq!(last(&[&second.0, &third.0], Some(&prune.0)).unwrap(), Some((third.1, 2)));
    assert!(last(&[&second.0, &third.0], None).is_err(), "nothing says that the first was removed");
    assert!(last(&[&third.0], Some(&prune.0)).is_err(), "only the first was removed");
}
