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
