use std::sync::Arc;

use folkmoot_protocol::{Recipe, update::HEADER_BYTES, update::UpdateHeader};
use folkmoot_update::codec;

use super::{
    fake::{Fake, Trouble},
    story::{builder, never},
};

/// Returns the values of a compressed update.
fn arriving(fake: &Fake, update: &[u8]) -> Vec<f32> {
    let (header, payload) = update.split_first_chunk::<HEADER_BYTES>().expect("it has a header");
    assert!(UpdateHeader::decode(header).expect("it can be read").is_compressed);
    codec::decode(&fake.plan.schema, payload).expect("it is a payload of the model")
}

/// In this model what goes to one output goes from the other: of four elements two are the largest, with opposite signs.
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
    // About twice as much: batches are drawn anew for every assignment.
    let times = -second[left_out] / first[largest];
    assert!((1.7..2.4).contains(&times), "{first:?}, {second:?}");

    // Who enrols again is somebody else: nothing is left of before.
    drop(client);
    let mut another = builder(&fake, directory.path()).await.build().expect("a client");
    another.run_rounds(1, never()).await.expect("a round");
    let third = arriving(&fake, &fake.next_assignment());
    let times = third[sent(&third)].abs() / first[largest].abs();
    assert!((0.7..1.4).contains(&times), "{first:?}, {third:?}");
}
