use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;

/// Returns examples with one feature, which is the example's index, and ten classes in turn.
fn examples(count: usize) -> Examples {
    let features = (0..count).map(|index| index as f32).collect();
    let classes = (0..count as u32).map(|index| index % 10).collect();
    Examples::new(features, vec![1], Labels::Classes(classes)).unwrap()
}

fn deal(partition: &str, count: usize, clients: usize, seed: u64) -> Result<Vec<Part>, PartitionError> {
    let partition: Partition = toml::from_str(partition).unwrap();
    let examples = examples(count);
    let groups: Vec<u32> = (0..count as u32).map(|index| index / 3).collect();
    let data = Population { examples: &examples, groups: Some(&groups) };
    partition.deal(&data, clients, &mut ChaCha8Rng::seed_from_u64(seed))
}

const PARTITIONS: [&str; 7] = [
    "kind = 'iid'",
    "kind = 'shards'\nshards_per_client = 2",
    "kind = 'dirichlet'\nalpha = 0.1",
    "kind = 'quantity_skew'\nsizes.power_law.exponent = 1.5",
    "kind = 'quantity_skew'\nsizes.dirichlet.alpha = 0.2",
    "kind = 'feature_skew'\nlevel = 0.1",
    "kind = 'natural'",
];

/// Returns the mean over the clients of the share of each client's most frequent class.
fn skew(parts: &[Part]) -> f64 {
    let top_share = |part: &Part| {
        let count = |class| part.indices.iter().filter(|index| *index % 10 == class).count();
        (0..10).map(count).max().unwrap() as f64 / part.indices.len() as f64
    };
    parts.iter().map(top_share).sum::<f64>() / parts.len() as f64
}

fn sizes(parts: &[Part]) -> Vec<usize> {
    let mut sizes: Vec<usize> = parts.iter().map(|part| part.indices.len()).collect();
    sizes.sort_unstable();
    sizes
}

proptest! {
    #[test]
    fn every_example_goes_to_one_client_and_no_client_is_empty(
        which in 0..PARTITIONS.len(), count in 6usize..400, share in 0.0f64..1.0, seed: u64,
    ) {
        // Shards and groups allow at most one client for every three examples.
        let clients = 1 + (share * (count / 3 - 1) as f64) as usize;
        let parts = deal(PARTITIONS[which], count, clients, seed).unwrap();
        prop_assert_eq!(parts.len(), clients);
        prop_assert!(parts.iter().all(|part| !part.indices.is_empty()));
        let mut all: Vec<usize> = parts.into_iter().flat_map(|part| part.indices).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
    }

    #[test]
    fn any_alpha_and_any_number_of_clients_is_dealt(
        count in 1usize..300, share in 0.0f64..1.0, log_alpha in -20.0f64..28.0, seed: u64,
    ) {
        let clients = 1 + (share * (count - 1) as f64) as usize;
        let text = format!("kind = 'dirichlet'\nalpha = {}", log_alpha.exp());
        let parts = deal(&text, count, clients, seed).unwrap();
        prop_assert!(parts.iter().all(|part| !part.indices.is_empty()));
        prop_assert_eq!(sizes(&parts).iter().sum::<usize>(), count);
    }
}

#[test]
fn a_seed_gives_one_split() {
    for partition in PARTITIONS {
        assert_eq!(deal(partition, 500, 20, 7), deal(partition, 500, 20, 7), "{partition}");
        assert_ne!(deal(partition, 500, 20, 7), deal(partition, 500, 20, 8), "{partition}");
    }
}

#[test]
fn a_low_alpha_is_skewed_and_a_high_one_even() {
    let dealt = |alpha: f64| deal(&format!("kind = 'dirichlet'\nalpha = {alpha}"), 2000, 20, 1).unwrap();
    assert!(skew(&dealt(0.05)) > 0.6);
    assert!(skew(&dealt(1000.0)) < 0.15);
    assert!(dealt(1000.0).iter().all(|part| part.indices.len().abs_diff(100) < 20));
}

#[test]
fn shards_leave_few_classes_at_a_client_in_even_sizes() {
    let parts = deal(PARTITIONS[1], 2000, 20, 1).unwrap();
    assert!(parts.iter().all(|part| part.indices.len() == 100));
    // 40 shards of 50 examples over 10 classes of 200: every shard has one class.
    let classes = |part: &Part| part.indices.iter().map(|index| index % 10).collect::<BTreeSet<_>>().len();
    assert!(parts.iter().all(|part| classes(part) <= 2));
    assert!(parts.iter().any(|part| classes(part) == 2));
}

#[test]
fn a_random_share_makes_shards_alike() {
    let text = |share: f64| format!("kind = 'shards'\nshards_per_client = 1\niid_share = {share:?}");
    let classes = |part: &Part| part.indices.iter().map(|index| index % 10).collect::<BTreeSet<_>>().len();
    for share in [0.0, 0.1, 1.0] {
        let parts = deal(&text(share), 2000, 20, 1).unwrap();
        let all: BTreeSet<usize> = parts.iter().flat_map(|part| part.indices.clone()).collect();
        assert_eq!(all.len(), 2000, "every example is dealt once");
        assert!(parts.iter().all(|part| part.indices.len().abs_diff(100) <= 1), "{share}");
        // Ten random examples have several classes, and a shard has one.
        assert!(parts.iter().all(|part| (classes(part) > 1) == (share > 0.0)), "{share}");
    }
    assert!(skew(&deal(&text(1.0), 2000, 20, 1).unwrap()) < 0.25);
    let plain = deal("kind = 'shards'\nshards_per_client = 1", 2000, 20, 1);
    assert_eq!(deal(&text(0.0), 2000, 20, 1), plain);
    let refused = deal(&text(1.5), 2000, 20, 1).unwrap_err().to_string();
    assert!(refused.contains("partition.iid_share"), "{refused}");
}

#[test]
fn a_power_law_gives_the_sizes_of_the_law() {
    // The harmonic shares 1, 1/2, 1/3 and 1/4 add up to 25/12. Of 2500 examples they give 1200, 600, 400 and 300.
    let parts = deal("kind = 'quantity_skew'\nsizes.power_law.exponent = 1", 2500, 4, 3).unwrap();
    assert_eq!(sizes(&parts), [300, 400, 600, 1200]);
    assert!(skew(&parts) < 0.2, "every client has about the same mix of classes");
}

#[test]
fn iid_parts_differ_by_one_and_are_fair() {
    let parts = deal("kind = 'iid'", 2003, 20, 1).unwrap();
    assert_eq!((sizes(&parts)[0], sizes(&parts)[19]), (100, 101));
    assert!(skew(&parts) < 0.25, "{}", skew(&parts));
}

#[test]
fn groups_stay_together_and_in_order_when_each_is_a_client() {
    let parts = deal("kind = 'natural'", 300, 100, 1).unwrap();
    assert!(parts.iter().enumerate().all(|(client, part)| part.indices == [0, 1, 2].map(|i| 3 * client + i)));
    let parts = deal("kind = 'natural'", 300, 30, 1).unwrap();
    let whole =
        |part: &Part| part.indices.chunks(3).all(|group| group[0] % 3 == 0 && group[2] == group[0] + 2);
    assert!(parts.iter().all(whole));
    assert_eq!((sizes(&parts)[0], sizes(&parts)[29]), (9, 12));
}

#[test]
fn noise_grows_from_client_to_client_and_is_always_the_same() {
    let parts = deal("kind = 'feature_skew'\nlevel = 2.0", 8000, 4, 1).unwrap();
    let data = examples(8000);
    for (client, part) in parts.iter().enumerate() {
        let blurred = part.examples(&data).unwrap();
        assert_eq!(blurred.features(), part.examples(&data).unwrap().features());
        let noise =
            blurred.features().iter().zip(&part.indices).map(|(x, i)| (f64::from(*x) - *i as f64).powi(2));
        let deviation = (noise.sum::<f64>() / part.indices.len() as f64).sqrt();
        // The deviation of 2000 draws has a relative standard error of 1/√4000. The tolerance is five standard errors;
        // a correct implementation fails once in two million runs.
        let expected = 2.0 * (client + 1) as f64 / 4.0;
        assert!((deviation / expected - 1.0).abs() < 0.08, "client {client}: {deviation}");
    }
}

#[test]
fn what_cannot_be_dealt_is_refused_with_a_remedy() {
    let refusal =
        |partition: &str, count, clients| deal(partition, count, clients, 1).unwrap_err().to_string();
    for (partition, count, clients, message) in [
        ("kind = 'iid'", 5, 0, "the number of clients is 0; it must be 1 to 100000"),
        ("kind = 'iid'", 5, 6, "5 examples are too few for 6 clients"),
        (
            "kind = 'shards'\nshards_per_client = 0",
            5,
            1,
            "partition.shards_per_client is 0; it must be at least 1",
        ),
        (
            "kind = 'shards'\nshards_per_client = 3",
            5,
            2,
            "5 examples are too few for 2 clients with 3 shards each",
        ),
        ("kind = 'dirichlet'\nalpha = 0", 5, 2, "partition.alpha is 0; it must be a number above 0"),
        ("kind = 'natural'", 9, 4, "the data has 3 groups, too few for 4 clients"),
        (
            "kind = 'quantity_skew'\nsizes.power_law.exponent = -1",
            5,
            2,
            "partition.sizes.power_law.exponent is -1",
        ),
        ("kind = 'feature_skew'\nlevel = nan", 5, 2, "partition.level is NaN"),
    ] {
        assert!(
            refusal(partition, count, clients).starts_with(message),
            "{}",
            refusal(partition, count, clients)
        );
    }
    let data = Examples::new(vec![1.0, 2.0], vec![1], Labels::Targets(vec![1.0, 2.0], 1)).unwrap();
    let population = Population { examples: &data, groups: None };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (partition, error) in [
        (Partition::Dirichlet(Dirichlet { alpha: 1.0 }), PartitionError::NoClasses { kind: "dirichlet" }),
        (Partition::Shards(Shards::default()), PartitionError::NoClasses { kind: "shards" }),
        (Partition::Natural(Natural {}), PartitionError::NoGroups),
    ] {
        assert_eq!(partition.deal(&population, 1, &mut rng), Err(error));
    }
    let groups = Population { examples: &data, groups: Some(&[1]) };
    let refused = Partition::Natural(Natural {}).deal(&groups, 1, &mut rng);
    assert_eq!(refused, Err(PartitionError::GroupCount { groups: 1, examples: 2 }));
}

#[test]
fn unknown_settings_are_refused() {
    for text in ["kind = 'iid'\nalpha = 1", "kind = 'dirichlet'\nalpha = 1\nbeta = 2", "kind = 'shard'"] {
        assert!(toml::from_str::<Partition>(text).is_err(), "{text}");
    }
}

#[test]
fn a_hundred_thousand_clients_are_dealt_at_once() {
    let parts = deal("kind = 'dirichlet'\nalpha = 0.01", 100_000, 100_000, 1).unwrap();
    assert!(parts.iter().all(|part| part.indices.len() == 1));
}
