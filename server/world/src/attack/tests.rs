use super::*;

fn attack(text: &str) -> Attack {
    let adversary: Adversary = toml::from_str(&format!("share = 0.5\n[attack]\n{text}")).unwrap();
    adversary.validate().unwrap();
    adversary.attack
}

fn examples() -> Examples {
    let features = (0..8).map(|value| value as f32).collect();
    let examples = Examples::new(features, vec![2], Labels::Classes(vec![0, 1, 2, 1])).unwrap();
    examples.with_weights(vec![1.0, 2.0, 3.0, 4.0]).unwrap()
}

#[test]
fn labels_are_flipped_and_rotated_and_the_rest_stays() {
    let flipped = attack("kind = 'label_flip'\nfrom = 1\nto = 7").poison(&examples(), 1).unwrap();
    assert_eq!(flipped.labels(), &Labels::Classes(vec![0, 7, 2, 7]));
    assert_eq!((flipped.features(), flipped.weights()), (examples().features(), examples().weights()));
    let rotated =
        attack("kind = 'label_rotate'\nby = 4294967295\nclasses = 4").poison(&examples(), 1).unwrap();
    // 2³² − 1 is 3 modulo 4.
    assert_eq!(rotated.labels(), &Labels::Classes(vec![3, 0, 1, 0]));
}

#[test]
fn a_backdoor_sets_its_patch_and_its_label() {
    let text =
        "kind = 'backdoor'\ntrigger_features = [1]\ntrigger_value = 9.5\ntarget = 2\npoisoned_share = 1.0";
    let poisoned = attack(text).poison(&examples(), 1).unwrap();
    assert_eq!(poisoned.features(), [0.0, 9.5, 2.0, 9.5, 4.0, 9.5, 6.0, 9.5]);
    assert_eq!(poisoned.labels(), &Labels::Classes(vec![2; 4]));
    let Attack::Backdoor(backdoor) = attack(text) else { panic!("it was asked for") };
    let triggered = backdoor.triggered(&examples()).unwrap();
    assert_eq!(triggered.features(), [0.0, 9.5, 2.0, 9.5, 6.0, 9.5], "without the target's own example");
}

#[test]
fn a_backdoor_poisons_its_share() {
    let many = Examples::new(vec![0.0; 10_000], vec![1], Labels::Classes(vec![0; 10_000])).unwrap();
    let text =
        "kind = 'backdoor'\ntrigger_features = [0]\ntrigger_value = 1.0\ntarget = 1\npoisoned_share = 0.2";
    let poisoned = attack(text).poison(&many, 5).unwrap();
    let count = poisoned.features().iter().filter(|value| **value == 1.0).count();
    // Binomial(10 000, 0.2) has a standard deviation of 40. The tolerance is five standard deviations; a correct
    // implementation fails once in two million runs.
    assert!(count.abs_diff(2000) < 200, "{count}");
    assert_eq!(poisoned, attack(text).poison(&many, 5).unwrap());
}

#[test]
fn updates_are_turned_scaled_and_drowned() {
    let distorted = |text: &str, seed| {
        let mut delta = vec![1.0, -2.0, 0.5];
        attack(text).distort(&mut delta, seed);
        delta
    };
    assert_eq!(distorted("kind = 'sign_flip'", 1), [-1.0, 2.0, -0.5]);
    assert_eq!(distorted("kind = 'sign_flip'\nfactor = 2.0", 1), [-2.0, 4.0, -1.0]);
    assert_eq!(distorted("kind = 'scale'\nfactor = 10.0", 1), [10.0, -20.0, 5.0]);
    let noise = "kind = 'gaussian_noise'\nstandard_deviation = 3.0";
    let (replaced, added) = (distorted(noise, 1), distorted(&format!("{noise}\nkeeps_delta = true"), 1));
    let honest: Vec<f32> = added.iter().zip(&replaced).map(|(sum, noise)| sum - noise).collect();
    assert!(honest.iter().zip([1.0, -2.0, 0.5]).all(|(found, value)| (found - value).abs() < 1e-5));
    assert_ne!(distorted(noise, 1), distorted(noise, 2));
    let mut many = vec![0.0; 10_000];
    attack(noise).distort(&mut many, 3);
    let variance = many.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / 1e4;
    // The variance of 10 000 draws has a relative standard error of 1.4%. The tolerance is five standard errors.
    assert!((variance / 9.0 - 1.0).abs() < 0.071, "{variance}");
}

/// Returns what hostile clients know in a round of 30 clients, 6 of them hostile.
///
/// The expected numbers of the tests below come from Python, with `mean` and `stdev` of `statistics` for each parameter, its
/// `NormalDist().inv_cdf` for z, and 200 bisections of the inequalities of the papers for γ.
fn known() -> Known {
    let updates =
        [[1.0, -2.0, 0.5, 0.0], [2.0, -1.0, 0.25, 0.5], [0.5, -4.0, 0.75, -1.0], [1.5, 1.0, 0.0, 0.25]];
    let updates = updates.iter().map(|update| update.to_vec()).collect();
    Known::of(updates, Cohort { clients: 30, hostile: 6 })
}

/// Returns whether all colluding clients upload these values.
fn agrees(text: &str, expected: [f64; 4]) -> bool {
    let agreed = attack(text).agree(&known()).unwrap();
    assert_eq!(agreed.update(1), agreed.update(2), "all upload the same");
    agreed.update(1).iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-6)
}

#[test]
fn colluding_clients_shift_the_mean_by_standard_deviations() {
    assert!(agrees("kind = 'alie'\nz = 1.5", [0.281754163, -4.622498999, -0.109122918, -1.048733365]));
    assert!(agrees("kind = 'alie'", [1.114169056, -1.938041634, 0.307084528, -0.200854336]));
    assert!(agrees("kind = 'inner_product'", [-0.625, 0.75, -0.1875, 0.03125]));
    assert!(agrees("kind = 'inner_product'\nepsilon = 4.0", [-5.0, 6.0, -1.5, 0.25]));
}

#[test]
fn the_largest_z_is_the_quantile_of_a_majority() {
    let z = |clients, hostile| alie::largest_z(Cohort { clients, hostile });
    // The example of the paper: of 50 clients 24 are hostile, and need 2 of 26.
    assert!((z(50, 24) - 1.426076872).abs() < 1e-6);
    assert!((z(30, 6) - 0.210428394).abs() < 1e-6);
    assert!((z(25, 5) - 0.253347103).abs() < 1e-6);
    assert_eq!((z(3, 1), z(1, 1), z(2, 2), z(0, 0)), (0.0, 0.0, 0.0, 0.0));
    // With a majority, one honest client further out is asked for: the quantile at 9/10.
    assert!((z(30, 20) - 1.281551566).abs() < 1e-6);
}

#[test]
fn colluding_clients_go_as_far_as_no_distance_gives_them_away() {
    for (perturbation, min_max, min_sum) in [
        (
            "standard_deviation",
            [0.451471243, -4.075177863, -0.024264378, -0.875863377],
            [0.464313704, -4.033762171, -0.017843148, -0.862782335],
        ),
        (
            "unit_vector",
            [-0.784944478, 0.941933374, -0.235483344, 0.039247224],
            [-0.508581414, 0.610297696, -0.152574424, 0.025429071],
        ),
        (
            "sign",
            [-0.363329356, 0.113329356, -1.238329356, 1.550829356],
            [-0.149288324, -0.100711676, -1.024288324, 1.336788324],
        ),
    ] {
        assert!(agrees(&format!("kind = 'min_max'\nperturbation = '{perturbation}'"), min_max));
        assert!(agrees(&format!("kind = 'min_sum'\nperturbation = '{perturbation}'"), min_sum));
    }
    assert_eq!(attack("kind = 'min_max'"), attack("kind = 'min_max'\nperturbation = 'standard_deviation'"));
}

#[test]
fn equal_updates_leave_no_room() {
    let known = Known::of(vec![vec![0.5, -1.0], vec![0.5, -1.0]], Cohort { clients: 4, hostile: 2 });
    for kind in ["alie", "min_max", "min_sum", "fang"] {
        for perturbation in ["standard_deviation", "unit_vector", "sign"] {
            let more = if kind.starts_with("min") {
                format!("\nperturbation = '{perturbation}'")
            } else {
                String::new()
            };
            let agreed = attack(&format!("kind = '{kind}'{more}")).agree(&known).unwrap();
            assert_eq!(agreed.update(1), [0.5, -1.0], "{kind} {perturbation}");
        }
    }
}

#[test]
fn a_directed_deviation_is_drawn_beyond_three_standard_deviations() {
    let agreed = attack("kind = 'fang'").agree(&known()).unwrap();
    let ranges = [
        (-1.331988897, -0.686491673),
        (4.744997998, 6.826663998),
        (-0.915994449, -0.593245837),
        (1.909966730, 2.567455640),
    ];
    for seed in 0..100 {
        for (value, (low, high)) in agreed.update(seed).into_iter().zip(ranges) {
            assert!((low - 1e-6..=high + 1e-6).contains(&f64::from(value)), "{value}");
        }
    }
    assert_ne!(agreed.update(1), agreed.update(2), "each client draws its own");
    assert_eq!(agreed.update(1), agreed.update(1));
}

#[test]
fn a_free_riders_noise_is_as_long_as_an_honest_update() {
    let ridden = |text: &str, seed| {
        let mut delta: Vec<f32> =
            (0..1000).map(|index| if index < 2 { [3.0, -4.0][index] } else { 0.0 }).collect();
        attack(text).distort(&mut delta, seed);
        delta
    };
    let norm = |delta: Vec<f32>| delta.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    assert!((norm(ridden("kind = 'free_rider'", 1)) - 5.0).abs() < 1e-5);
    assert!((norm(ridden("kind = 'free_rider'\nnorm_factor = 0.5", 1)) - 2.5).abs() < 1e-5);
    assert_eq!(norm(ridden("kind = 'free_rider'\nnorm_factor = 0.0", 1)), 0.0);
    let (noise, other) = (ridden("kind = 'free_rider'", 1), ridden("kind = 'free_rider'", 2));
    assert_ne!(noise, other);
    let largest = noise.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    assert!(largest < 1.0, "the noise is spread over all parameters: {largest}");
}

#[test]
fn an_attack_is_on_data_or_on_updates() {
    for (text, is_on_data) in [
        ("kind = 'label_flip'\nfrom = 1\nto = 0", true),
        ("kind = 'label_rotate'\nclasses = 3", true),
        ("kind = 'scale'\nfactor = 2.0", false),
    ] {
        let (attack, mut delta) = (attack(text), vec![1.0]);
        attack.distort(&mut delta, 1);
        let is_data_changed = attack.poison(&examples(), 1).unwrap() != examples();
        assert_eq!(
            (attack.is_on_data(), is_data_changed, delta == [1.0]),
            (is_on_data, is_on_data, is_on_data)
        );
    }
}

#[test]
fn the_hostile_are_as_many_as_asked_for() {
    let text = "share = 0.2\nclients = [3, 500]\nattack = { kind = 'sign_flip' }";
    let adversary: Adversary = toml::from_str(text).unwrap();
    let hostile = adversary.hostile(100, 7);
    assert!(hostile.contains(&3) && (20..=21).contains(&hostile.len()) && hostile.iter().all(|c| *c < 100));
    assert_eq!(hostile, adversary.hostile(100, 7));
    assert_ne!(hostile, adversary.hostile(100, 8));
}

#[test]
fn colluding_clients_must_be_enough() {
    let adversary = |kind: &str| -> Adversary {
        toml::from_str(&format!("share = 0.2\nattack = {{ kind = '{kind}' }}")).unwrap()
    };
    for kind in ["alie", "min_max", "min_sum", "fang"] {
        assert_eq!(adversary(kind).check_count(1), Err(AttackError::TooFewHostile { needed: 2, found: 1 }));
        assert_eq!((adversary(kind).check_count(0), adversary(kind).check_count(2)), (Ok(()), Ok(())));
        let mut delta = vec![1.0];
        adversary(kind).attack.distort(&mut delta, 1);
        assert_eq!(delta, [1.0], "a colluding client does not change its own update");
    }
    assert_eq!(
        (adversary("inner_product").check_count(1), adversary("sign_flip").check_count(1)),
        (Ok(()), Ok(()))
    );
    assert_eq!(adversary("sign_flip").attack.agree(&known()), None);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let targets = Examples::new(vec![1.0], vec![1], Labels::Targets(vec![1.0], 1)).unwrap();
    let flip = attack("kind = 'label_flip'\nfrom = 1\nto = 0");
    assert_eq!(flip.poison(&targets, 1), Err(AttackError::NoClasses));
    let backdoor = "kind = 'backdoor'\ntrigger_features = [2]\ntrigger_value = 1.0\ntarget = 1";
    let refused = attack(backdoor).poison(&examples(), 1);
    assert_eq!(refused, Err(AttackError::NoSuchFeature { feature: 2, features: 2 }));
    for (text, field) in [
        ("share = 2.0\nattack = { kind = 'sign_flip' }", "adversary.share"),
        ("attack = { kind = 'scale', factor = 0.0 }", "adversary.attack.factor"),
        ("attack = { kind = 'alie', z = -1.0 }", "adversary.attack.z"),
        ("attack = { kind = 'inner_product', epsilon = 0.0 }", "adversary.attack.epsilon"),
        ("attack = { kind = 'fang', from = 5.0 }", "adversary.attack.to"),
        ("attack = { kind = 'free_rider', norm_factor = -1.0 }", "adversary.attack.norm_factor"),
        ("attack = { kind = 'label_rotate', by = 6, classes = 3 }", "adversary.attack.by"),
        (
            "attack = { kind = 'gaussian_noise', standard_deviation = nan }",
            "adversary.attack.standard_deviation",
        ),
        (
            "attack = { kind = 'backdoor', trigger_features = [], trigger_value = 1.0, target = 1 }",
            "adversary.attack.trigger_features",
        ),
    ] {
        let adversary: Adversary = toml::from_str(text).unwrap();
        assert_eq!(adversary.validate().unwrap_err().settings[0].field, field);
    }
    assert!(toml::from_str::<Adversary>("attack = { kind = 'sign_flip', by = 1 }").is_err());
}
