//! All attacks on the digits, with few victims, shadow models and rounds.

use folkmoot_data::{Dataset, ReadOptions, read};
use folkmoot_engine::{Examples, ImportLimits, Labels, Model};
use serde_json::{Value, json};

use super::{
    CannotAttack, Inputs, Picture, Settings, Silent, attack,
    inputs::subset,
    inversion::{InversionSettings, ViewChoice, ViewKind},
    membership::MembershipSettings,
    poisoning::PoisoningSettings,
    property::{Property, PropertySettings},
};

const MODEL: &[u8] = include_bytes!("../../../examples/digits/model.onnx");

/// Returns a task over 240 of the digits. `changes` replace its top-level keys.
fn inputs(changes: &Value) -> Inputs {
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/digits.csv");
    let digits = read(digits.as_ref(), &ReadOptions::default()).expect("the digits are there");
    let mut description = json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 8, "reporting_deadline_seconds": 60 },
        "stop": { "rounds": 4 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        description[key] = value.clone();
    }
    Inputs {
        description: serde_json::from_value(description).expect("it is a description"),
        model: Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model"),
        onnx: MODEL.into(),
        training: subset(&digits, &(0..240).collect::<Vec<_>>()).expect("there are more"),
        held_out: None,
        world: serde_json::from_value(json!({ "clients": 12, "seed": 5 })).expect("they are settings"),
        trace: None,
        threads: 1,
    }
}

fn inversion() -> InversionSettings {
    InversionSettings {
        seed: 5,
        victims: 2,
        examples: 1,
        iterations: 3,
        restarts: 1,
        views: ViewChoice::default(),
        is_picture: true,
    }
}

fn settings(inputs: &Inputs) -> Settings {
    Settings {
        inversion: Some(inversion()),
        membership: Some(MembershipSettings { seed: 5, shadows: 4 }),
        property: Some(PropertySettings {
            seed: 5,
            property: Some(Property::Class(3)),
            examples: Some(16),
            share: 0.25,
            updates: 60,
            views: ViewChoice::default(),
        }),
        poisoning: Some(PoisoningSettings {
            kinds: vec!["sign_flip".into(), "label_flip".into(), "backdoor".into()],
            seeds: vec![5, 6],
            share: 0.25,
        }),
        picture: Picture::of(inputs.training.examples.feature_shape(), None).expect("the digits are squares"),
        is_chosen: true,
    }
}

#[tokio::test]
async fn all_attacks_report_on_the_digits() {
    let inputs = inputs(&json!({}));
    let settings = settings(&inputs);
    let report = Box::pin(attack(&inputs, &settings, &Silent)).await.unwrap();
    let found = report.inversion.as_ref().unwrap();
    let error = |kind: ViewKind| {
        found.summaries.iter().find(|summary| summary.view == kind).unwrap().analytic_error.unwrap()
    };
    let (plain, noise, sum) = (error(ViewKind::Plain), error(ViewKind::Noise), error(ViewKind::Sum));
    assert!(plain < 1e-4, "{plain}");
    assert!(noise > 0.3 && sum > 100.0 * plain && sum > 0.01, "{noise}, {sum}");
    assert_eq!(found.summaries[0].labels_right, Some(1.0));
    assert_eq!(found.views[2].clients, Some(4), "the least cohort of a round");
    let membership = report.membership.as_ref().unwrap();
    let variant = &membership.variants[0];
    assert_eq!((membership.variants.len(), variant.is_private), (1, false));
    for roc in [&variant.loss_threshold, &variant.likelihood_ratio] {
        assert!((0.3..=0.9).contains(&roc.auc), "{roc:?}");
    }
    let property = report.property.as_ref().unwrap();
    let auc = property.views.iter().map(|view| view.roc.auc).collect::<Vec<f64>>();
    assert!(auc[0] > 0.9 && auc[1] < 0.8 && auc[2] <= auc[0], "noise hides a class: {auc:?}");
    assert!(property.views.iter().all(|view| (view.auc_low..=view.auc_high).contains(&view.roc.auc)));
    assert_eq!(
        (property.property.as_str(), property.with_property, property.victim_updates),
        ("class 3", 4, 60)
    );
    let poisoning = report.poisoning.as_ref().unwrap();
    let names: Vec<&str> = poisoning.attacks.iter().map(|outcome| outcome.summary.variant.as_str()).collect();
    assert_eq!(names, ["no attack", "sign_flip", "label_flip", "backdoor"]);
    assert!(poisoning.attacks[0].success.is_none() && poisoning.attacks[3].success.is_some());
    assert_eq!(report.statements.len(), 4);
    let html = report.html().unwrap();
    for part in [
        "Inversion of updates",
        "Members found",
        "Property of a client",
        "sign_flip",
        "rgb(255,255,255)",
        "the difference in held-out accuracy",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(report.text().contains("plain update"));
    let json = |report| serde_json::to_string(report).unwrap();
    let threads = Inputs { threads: 2, ..inputs };
    let again = Box::pin(attack(&threads, &settings, &Silent)).await.unwrap();
    assert_eq!(json(&again), json(&report), "the same seed gives the same bytes on any number of threads");
    assert_eq!(again.html().unwrap(), html);
}

#[tokio::test]
async fn attacks_that_do_not_fit_are_left_out_or_refused() {
    let mut inputs = inputs(&json!({}));
    let targets = inputs.training.examples.clone();
    let labels = Labels::Targets((0..targets.len()).map(|index| index as f32).collect(), 1);
    let examples = Examples::new(targets.features().to_vec(), vec![64], labels).unwrap();
    inputs.training = Dataset { examples, groups: None };
    let chosen = Settings { poisoning: None, ..settings(&inputs) };
    let refused = Box::pin(attack(&inputs, &chosen, &Silent)).await.unwrap_err();
    assert!(matches!(refused, CannotAttack::NoClasses { .. }), "{refused}");
    assert!(refused.to_string().contains("--attacks"), "{refused}");
    let open = Settings { is_chosen: false, ..chosen };
    let report = Box::pin(attack(&inputs, &open, &Silent)).await.unwrap();
    // The chosen property is a class, but the labels are not classes any more.
    assert_eq!((report.left_out.len(), report.statements.len()), (3, 0), "{:?}", report.left_out);
    let few = Inputs { training: subset(&inputs.training, &[0, 1]).unwrap(), ..inputs };
    let refused = Box::pin(attack(&few, &open, &Silent)).await.unwrap_err();
    assert!(matches!(refused, CannotAttack::TooFewExamples { found: 2 }), "{refused}");
}

#[tokio::test]
async fn a_property_of_the_features_is_guessed_and_must_be_one_of_the_data() {
    let inputs = inputs(&json!({}));
    let chosen = |property: Property| Settings {
        inversion: None,
        membership: None,
        poisoning: None,
        property: settings(&inputs).property.map(|one| PropertySettings { property: Some(property), ..one }),
        ..settings(&inputs)
    };
    let bright = chosen(Property::FeatureAbove(20, 0.9));
    let report = Box::pin(attack(&inputs, &bright, &Silent)).await.unwrap();
    let found = report.property.as_ref().unwrap();
    assert_eq!(found.property, "feature 20 > 0.9");
    assert!(report.text().contains("property feature 20 > 0.9") && report.statements.len() == 1);
    for (property, word) in [
        (Property::FeatureIs(64, 0.0), "64 features"),
        (Property::FeatureIs(0, 3.0), "0 examples have the property"),
    ] {
        let refused = Box::pin(attack(&inputs, &chosen(property), &Silent)).await.unwrap_err();
        assert!(refused.to_string().contains(word), "{refused}");
    }
}

#[tokio::test]
async fn the_tasks_own_privacy_is_the_noise() {
    let local = json!({ "privacy": {
        "kind": "local", "epsilon": 8.0, "delta": 1e-5, "clipping_norm": 0.5, "noise_multiplier": 2.0,
    } });
    let inputs = inputs(&local);
    let settings = Settings { membership: None, poisoning: None, property: None, ..settings(&inputs) };
    let report = Box::pin(attack(&inputs, &settings, &Silent)).await.unwrap();
    let found = report.inversion.unwrap();
    assert_eq!((found.views[1].clipping_norm, found.views[1].noise_multiplier), (Some(0.5), Some(2.0)));
    assert!(found.views[1].description.contains("own local privacy"), "{}", found.views[1].description);
    assert!(report.statements[0].remedy.contains("keep it"), "{}", report.statements[0].remedy);
}
