use std::sync::Arc;

use folkmoot_protocol::{Recipe, update::HEADER_BYTES, update::UpdateHeader};
use folkmoot_update::codec;

use super::{
    fake::{Fake, Trouble},
    story::{builder, never},
    tiny_model, until,
};

/// Decodes a compressed update.
fn arriving(fake: &Fake, update: &[u8]) -> Vec<f32> {
    let (header, payload) = update.split_first_chunk::<HEADER_BYTES>().expect("it has a header");
    assert!(UpdateHeader::decode(header).expect("it can be read").is_compressed);
    codec::decode(&fake.plan.schema, payload).expect("it is a payload of the model")
}

/// In this model, the deltas of the two outputs are opposite. Of the four elements, two are the largest, with opposite
/// signs.
#[tokio::test]
async fn what_an_accepted_update_left_out_comes_with_the_next_one() {
    let codec = "top_k:0.25".parse().expect("a codec");
    let mut fake = Fake::new(3, Trouble::default());
    fake.recipe = Some(Recipe { exact_below: 0, ..Recipe::of(codec) });
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().expect("a folder");
    let mut client = builder(&fake, directory.path()).await.build().expect("a client");

    client.run_rounds(1, never()).await.expect("a round");
    let first = arriving(&fake, &fake.next_assignment());
    client.run_rounds(1, never()).await.expect("another round");
    let second = arriving(&fake, &fake.next_assignment());
    let sent = |values: &[f32]| values.iter().position(|value| *value != 0.0).expect("one was sent");
    let (largest, left_out) = (sent(&first), sent(&second));
    assert_ne!(largest, left_out, "{first:?}, {second:?}");
    // About twice as much, because batches are drawn again for every assignment.
    let times = -second[left_out] / first[largest];
    assert!((1.7..2.4).contains(&times), "{first:?}, {second:?}");

    // A client that enrols again is a new client, without the earlier memory.
    drop(client);
    let mut another = builder(&fake, directory.path()).await.build().expect("a client");
    another.run_rounds(1, never()).await.expect("a round");
    let third = arriving(&fake, &fake.next_assignment());
    let times = third[sent(&third)].abs() / first[largest].abs();
    assert!((0.7..1.4).contains(&times), "{first:?}, {third:?}");
}

#[tokio::test]
async fn weights_that_come_in_parts_are_added_up() {
    let weights: Vec<f32> = tiny_model::weight_bytes()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    let mut updates = Vec::new();
    for in_parts in [false, true] {
        let mut fake = Fake::new(3, Trouble::default());
        if in_parts {
            let exact = Recipe::of(codec::Codec::None);
            let before: Vec<f32> = weights.iter().map(|weight| weight - 0.5).collect();
            let whole =
                codec::encode_part(&fake.plan.schema, &exact, None, &before).expect("a whole version");
            let change = codec::encode_part(&fake.plan.schema, &exact, Some(&whole.reference), &weights);
            fake.parts = vec![whole.bytes, change.expect("what changed").bytes];
        }
        let fake = Arc::new(fake);
        let directory = tempfile::tempdir().expect("a folder");
        let mut client = builder(&fake, directory.path()).await.build().expect("a client");
        client.run_rounds(1, never()).await.expect("a round");
        updates.push(fake.next_assignment());
        assert_eq!(fake.weights_requests(), usize::from(!in_parts));
    }
    assert_eq!(updates[0], updates[1], "both start from the same weights");
}

#[tokio::test]
async fn a_part_that_is_none_is_given_up() {
    let mut fake = Fake::new(3, Trouble::default());
    fake.parts = vec![b"no part".to_vec()];
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().expect("a folder");
    let mut client = builder(&fake, directory.path()).await.build().expect("a client");
    let stop = until("an abort", || !fake.seen().aborts.is_empty());
    client.run_rounds(1, stop).await.expect("it stops");
    let abort = &fake.seen().aborts[0];
    assert!(format!("{abort:?}").contains("part 0 of the weights"), "{abort:?}");
}
