//! All attacks on the digits, with few victims, shadow models and rounds.

use folkmoot_data::{Dataset, ReadOptions, read};
use folkmoot_engine::{Examples, ImportLimits, Labels, Model};
use serde_json::{Value, json};

use super::{
    CannotAttack, Inputs, Picture, Settings, Silent, attack,
    inputs::subset,
    inversion::{InversionSettings, ViewKind},
    membership::MembershipSettings,
    poisoning::PoisoningSettings,
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
        cohort: None,
        clipping_norm: None,
        noise_multiplier: None,
        is_picture: true,
    }
}

fn settings(inputs: &Inputs) -> Settings {
    Settings {
        inversion: Some(inversion()),
        membership: Some(MembershipSettings { seed: 5, shadows: 4 }),
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
    let poisoning = report.poisoning.as_ref().unwrap();
    let names: Vec<&str> = poisoning.attacks.iter().map(|outcome| outcome.summary.variant.as_str()).collect();
    assert_eq!(names, ["no attack", "sign_flip", "label_flip", "backdoor"]);
    assert!(poisoning.attacks[0].success.is_none() && poisoning.attacks[3].success.is_some());
    assert_eq!(report.statements.len(), 3);
    let html = report.html().unwrap();
    for part in [
        "Inversion of updates",
        "Members found",
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
    assert_eq!((report.left_out.len(), report.statements.len()), (2, 0));
    let few = Inputs { training: subset(&inputs.training, &[0, 1]).unwrap(), ..inputs };
    let refused = Box::pin(attack(&few, &open, &Silent)).await.unwrap_err();
    assert!(matches!(refused, CannotAttack::TooFewExamples { found: 2 }), "{refused}");
}

#[tokio::test]
async fn the_tasks_own_privacy_is_the_noise() {
    let local = json!({ "privacy": {
        "kind": "local", "epsilon": 8.0, "delta": 1e-5, "clipping_norm": 0.5, "noise_multiplier": 2.0,
    } });
    let inputs = inputs(&local);
    let settings = Settings { membership: None, poisoning: None, ..settings(&inputs) };
    let report = Box::pin(attack(&inputs, &settings, &Silent)).await.unwrap();
    let found = report.inversion.unwrap();
    assert_eq!((found.views[1].clipping_norm, found.views[1].noise_multiplier), (Some(0.5), Some(2.0)));
    assert!(found.views[1].description.contains("own local privacy"), "{}", found.views[1].description);
    assert!(report.statements[0].remedy.contains("keep it"), "{}", report.statements[0].remedy);
}
