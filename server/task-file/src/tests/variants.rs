//! Overlays and named variants of a task.

use std::collections::BTreeSet;

use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{LocalOptimizer, PersonalTraining};
use toml::Table;

use super::{
    super::{Variant, VariantError, kinds, overlay},
    TASK, described,
};

fn table(text: &str) -> Table {
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the task with some sections, and then with an overlay.
fn with(sections: &str, over: &str) -> TaskDescription {
    let mut task = table(&format!("{TASK}\n{sections}"));
    overlay(&mut task, &table(over));
    described(&toml::to_string(&task).unwrap())
}

fn named(name: &str) -> TaskDescription {
    let mut task = table(&format!("{TASK}\n[finalizer]\nkind = \"fed_adam\"\ntau = 0.5\n"));
    Variant::named(name, 40).unwrap().apply(&mut task);
    described(&toml::to_string(&task).unwrap())
}

fn refused(name: &str) -> VariantError {
    Variant::named(name, 40).unwrap_err()
}

#[test]
fn an_overlay_replaces_single_keys_and_keeps_the_others() {
    let changed = with("", "[plan]\nepochs = 3\n[scheduling]\nreport_goal = 5\n[stop]\nhours = 2.0");
    let mut expected = described(TASK);
    expected.plan.epochs = 3;
    let text = TASK.replace("report_goal = 8", "report_goal = 5");
    expected.scheduling = described(&text).scheduling;
    expected.stop.hours = Some(2.0);
    assert_eq!(changed, expected);
    assert_eq!(with("", ""), described(TASK), "an empty overlay changes nothing");
}

#[test]
fn the_settings_of_another_kind_are_not_kept() {
    let sections = "[finalizer]\nkind = \"fed_adam\"\ntau = 0.5\nbeta1 = 0.8\n";
    let same = with(sections, "[finalizer]\nkind = \"fed_adam\"\nbeta1 = 0.7");
    let FinalizerChoice::FedAdam(adam) = same.finalizer else { panic!("{:?}", same.finalizer) };
    assert_eq!((adam.tau, adam.beta1), (0.5, 0.7));
    let without_kind = with(sections, "[finalizer]\nbeta1 = 0.7");
    assert_eq!(without_kind, same);
    let other = with(sections, "[finalizer]\nkind = \"fed_yogi\"\nbeta1 = 0.7");
    let FinalizerChoice::FedYogi(yogi) = other.finalizer else { panic!("{:?}", other.finalizer) };
    assert_eq!((yogi.tau, yogi.beta1), (folkmoot_aggregation::finalizer::FedYogi::default().tau, 0.7));
}

#[test]
fn another_optimizer_replaces_the_first_and_the_same_one_is_merged() {
    let adam = with("", "[plan.optimizer.adam]\nlearning_rate = 0.01");
    assert!(matches!(adam.plan.optimizer, LocalOptimizer::Adam { .. }), "{:?}", adam.plan.optimizer);
    let sgd = with("", "[plan.optimizer.sgd]\nmomentum = 0.9");
    let LocalOptimizer::Sgd { learning_rate, momentum, .. } = sgd.plan.optimizer else { panic!("not SGD") };
    assert_eq!((learning_rate, momentum), (0.1, 0.9));
}

#[test]
fn a_kind_of_any_section_is_a_name_and_replaces_its_section() {
    let finalizer = |name| named(name).finalizer;
    assert_eq!(finalizer("fed_adam"), FinalizerChoice::FedAdam(Default::default()), "with its defaults");
    for spelling in ["fedavgm", "FedAvgM", "fed-avg-m", "fed_avg_m"] {
        assert_eq!(finalizer(spelling), FinalizerChoice::FedAvgM(Default::default()), "{spelling}");
    }
    let median = named("median");
    assert_eq!(median.aggregator, AggregatorChoice::Median);
    assert_eq!(
        median.finalizer,
        described(&format!("{TASK}\n[finalizer]\nkind = \"fed_adam\"\ntau = 0.5\n")).finalizer
    );
    assert_eq!(named("q_fed_avg").aggregator, AggregatorChoice::QFedAvg(Default::default()));
    assert_eq!(named("SignGuard").aggregator, AggregatorChoice::SignGuard(Default::default()));
    assert_eq!(named("FLAME").aggregator, AggregatorChoice::Flame(Default::default()));
    assert_eq!(named("TERM").aggregator, AggregatorChoice::Term(Default::default()));
    assert_eq!(serde_json::to_value(named("oort").selection).unwrap()["kind"], "oort");
}

#[test]
fn a_number_after_the_colon_is_the_required_setting() {
    let value = |name| serde_json::to_value(named(name).aggregator).unwrap();
    assert_eq!(value("krum:0.2")["byzantine_share"], 0.2);
    assert_eq!(value("norm_bound:2")["norm_max"], 2.0);
    assert_eq!(value("FoolsGold:2")["norm_max"], 2.0);
    assert_eq!(named("fedprox").plan.proximal_term, 0.01);
    assert_eq!(named("FedProx:1").plan.proximal_term, 1.0);
    let epochs = described(TASK).plan.epochs;
    assert_eq!(named("fed_prox:0.1").plan.epochs, epochs, "the rest of the plan stays");
    for (name, lambda) in [("Ditto", 0.1), ("ditto:1", 1.0)] {
        let own = PersonalTraining::Ditto { lambda, epochs };
        assert_eq!(named(name).plan.personal_training, Some(own));
    }
    for (name, lambda, learning_rate) in [("pFedMe", 15.0, 0.01), ("p_fed_me:30", 30.0, 0.005)] {
        let own = PersonalTraining::PFedMe { lambda, learning_rate, steps: 5 };
        assert_eq!(named(name).plan.personal_training, Some(own));
    }
    for (name, alpha) in [("APFL", 0.5), ("apfl:1", 1.0)] {
        let own = PersonalTraining::Apfl { alpha, adaptive: false };
        assert_eq!(named(name).plan.personal_training, Some(own));
    }
    for (name, count) in [("IFCA", 3), ("ifca:5", 5)] {
        let task = named(name);
        assert_eq!(task.plan.clusters.map(|clusters| clusters.count), Some(count));
        assert_eq!(task.aggregator, AggregatorChoice::WeightedMean);
    }
}

#[test]
fn a_finalizer_of_plain_means_brings_one_unless_the_task_has_a_rule() {
    let rule = |task: &str, name: &str| {
        let mut task: Table = task.parse().unwrap();
        Variant::named(name, 40).unwrap().apply(&mut task);
        task.get("aggregator").map(|rule| rule["kind"].as_str().unwrap().to_owned())
    };
    for name in ["fed_exp", "scaffold", "fed_dyn", "fed_dc", "fed_cm", "l_bfgs"] {
        assert_eq!(rule(TASK, name).as_deref(), Some("weighted_mean"), "{name}");
        let with_rule = format!("{TASK}\n[aggregator]\nkind = \"uniform_mean\"\n");
        assert_eq!(rule(&with_rule, name).as_deref(), Some("uniform_mean"), "{name}");
    }
    assert_eq!(rule(TASK, "fed_adam"), None);
}

#[test]
fn the_number_of_clients_is_that_of_the_world() {
    let finalizer = |variant: Variant| {
        let mut task: Table = TASK.parse().unwrap();
        variant.apply(&mut task);
        serde_json::to_value(&task["finalizer"]).unwrap()
    };
    for kind in ["scaffold", "fed_dyn", "fed_dc"] {
        let expected = |clients: u64| serde_json::json!({ "kind": kind, "clients": clients });
        assert_eq!(finalizer(Variant::named(kind, 40).unwrap()), expected(40));
        assert_eq!(finalizer(Variant::named(&format!("{kind}:7"), 40).unwrap()), expected(7));
    }
}

#[test]
fn a_name_that_is_no_variant_is_refused_with_a_remedy() {
    let error = refused("fed_adm");
    assert_eq!(error.message, "there is no variant `fed_adm`");
    assert!(error.remedy.starts_with("did you mean `fed_adam`?"), "{}", error.remedy);
    assert!(refused("zzz").remedy.contains("`fed_avg`, "), "{}", refused("zzz").remedy);
    let error = refused("krum");
    assert_eq!(error.message, "the variant `krum` needs `byzantine_share`, which has no default");
    assert!(error.remedy.starts_with("add it after a colon, for example `krum:0."), "{}", error.remedy);
    let error = refused("buffered");
    assert!(error.message.contains("`buffer_goal`") && error.message.contains("`concurrency`"), "{error}");
    assert!(error.remedy.contains("below [scheduling] with kind = \"buffered\""), "{}", error.remedy);
    assert!(refused("buffered:3").message.contains("more than one number"));
    assert!(refused("median:3").message.contains("takes no number"));
    for wrong in ["krum:x", "krum:", "fed_prox:nan", "fed_prox:inf"] {
        assert!(refused(wrong).message.contains("is not a number"), "{wrong}");
    }
}

#[test]
fn no_two_kinds_have_the_same_name() {
    let sections = ["finalizer", "aggregator", "scheduling", "selection"];
    // A component cannot be a variant by name alone, because it needs its file.
    let named = sections.iter().flat_map(|section| kinds(section)).filter(|name| *name != "component");
    let names: Vec<String> = named.map(|name| name.replace('_', "")).collect();
    assert_eq!(refused("component").message, "there is no variant `component`");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    assert!(!names.contains(&"fedprox".to_owned()));
}
