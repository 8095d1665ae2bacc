use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy},
    task::{CommitteeProtection, Protection, SecureAggregation, TaskState},
};
use folkmoot_privacy::{Delta, Epsilon, Relation};
use folkmoot_protocol::{
    BlobDigest, OrganisationId, TaskId, TensorSchema, TensorSpec, Timestamp,
    secure::{CommitteeKey, Threat},
};
use serde_json::{Value, json};

use super::*;

mod examples;

/// Creates a task with this `privacy` section.
fn task(name: &str, privacy: &Value, selection: &Value) -> TaskRecord {
    let description = json!({
        "name": name,
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 100 },
        "aggregator": { "kind": "uniform_mean" },
        "selection": selection,
        "privacy": privacy,
        "stop": { "rounds": 50 },
    });
    TaskRecord {
        id: TaskId::from_random_bytes([1; 16]),
        organisation_id: OrganisationId::from_random_bytes([2; 16]),
        description: serde_json::from_value(description).expect("it is a description"),
        state: TaskState::Draft,
        model: BlobDigest::of(b"model"),
        model_bytes: 5,
        schema: TensorSchema { tensors: vec![TensorSpec { name: "weight".into(), shape: vec![2, 2] }] },
        plan: BlobDigest::of(b"plan"),
        plan_bytes: 4,
        evaluation_plan: None,
        evaluation_data: None,
        served: 0,
        created_at: Timestamp(0),
        revision: 0,
    }
}

fn capped(name: &str) -> TaskRecord {
    let privacy = json!({ "kind": "central", "epsilon": 4.0, "delta": 1e-6, "participations_max": 10 });
    task(name, &privacy, &json!({ "kind": "uniform" }))
}

fn sampled() -> TaskRecord {
    let privacy = json!({ "kind": "central", "epsilon": 4.0, "delta": 1e-6, "amplification": "poisson",
        "clipping": { "kind": "fixed", "norm": 0.5 } });
    task("sampled", &privacy, &json!({ "kind": "poisson", "sampling_rate": 0.01 }))
}

/// Returns the statement after `releases` releases of the task and `releases` of another task.
fn stated(task: &TaskRecord, releases: u64) -> Statement {
    stated_in(PopulationPrivacy::default(), task, releases)
}

/// Like [`stated`], but in a population with these settings.
fn stated_in(population: PopulationPrivacy, task: &TaskRecord, releases: u64) -> Statement {
    let terms = super::super::terms(task).expect("it promises privacy");
    let mut totals = Totals::default();
    totals.add(task.id, terms.charge, releases);
    totals.add(TaskId::from_random_bytes([9; 16]), terms.charge, releases);
    let budget = Budget::from_totals(task, totals, population).expect("it can be accounted");
    statement(task, budget.as_ref(), 100_000)
}

fn said<'a>(statement: &'a Statement, about: &str) -> &'a str {
    let found = statement.sentences.iter().find(|one| one.about == about);
    &found.unwrap_or_else(|| panic!("nothing is said about {about}: {statement:?}")).text
}

#[test]
fn all_that_a_reader_needs_is_said() {
    let statement = stated(&capped("digits"), 20);
    let (spent, rho) = (statement.epsilon_spent.unwrap(), statement.rho_spent.unwrap());
    assert_eq!(statement.is_private, !crate::noise::IS_SEEDED);
    assert!(spent <= 4.0 && statement.epsilon_of_population.unwrap() > spent);
    assert_eq!((statement.releases, statement.participations_max), (20, Some(10)));
    let wanted = [
        ("Unit", "One enrolled client, with all its examples.".to_owned()),
        ("Unit", "A device that enrols again".into()),
        ("Setting", "Central differential privacy".into()),
        ("Adjacency", "Zero-out: two runs are adjacent".into()),
        ("Adjacency", "of one client is replaced by zeros, and is left out of the count".into()),
        ("Released", "the clipping norms computed from the noised counts".into()),
        (
            "Who is trusted",
            "The coordinator, the edge aggregators that clients use, and their operators".into(),
        ),
        ("Who is trusted", "loss and example count and how long it trained".into()),
        ("Spent so far", format!("Reasonable: epsilon {spent:.3} at delta 1e-6 per client; rho {rho:.6}.")),
        ("Spent so far", "the most that the 20 versions released with noise have cost any client".into()),
        ("Budget", "Reasonable: epsilon 4.000 at delta 1e-6 per client.".into()),
        ("Rounds", "after 50 versions".into()),
        (
            "Mechanism",
            "an L2 norm, over all tensors together, that began at 0.1 and follows the quantile 0.5".into(),
        ),
        ("Mechanism", format!("{:.4} times the norm, and are charged", statement.noise_multiplier.unwrap())),
        ("Mechanism", "by the report goal of 100".into()),
        ("Sampling", "No amplification by sampling is claimed".into()),
        ("Participations", "at most 10 versions. Each is charged in full. No separation".into()),
        ("Other tasks", "Tuning runs and stopped tasks".into()),
        ("Not released", "losses, accuracies and example counts".into()),
        ("Accountant", format!("zCDP, folkmoot-privacy {ACCOUNTANT_VERSION}")),
    ];
    for (about, text) in wanted {
        assert!(said(&statement, about).contains(&text), "{about}: {}", said(&statement, about));
    }
}

#[test]
fn a_claim_of_sampling_is_named_with_what_it_saves() {
    let statement = stated(&sampled(), 50);
    let [rdp, tight, plain] = [
        statement.epsilon_spent.unwrap(),
        statement.epsilon_by_loss_distribution.unwrap(),
        statement.epsilon_without_amplification.unwrap(),
    ];
    // The loss distribution gives the tighter bound. Both bounds are far below the cost without the claim.
    assert!(0.0 < tight && tight < rdp && rdp <= 4.0 && plain > 3.0 * rdp, "{tight} {rdp} {plain}");
    assert_eq!((statement.rho_spent, statement.sampling_rate), (None, Some(0.01)));
    assert!(said(&statement, "Participations").starts_with("A client's updates may be in every version"));
    let sampling = said(&statement, "Sampling");
    assert!(
        sampling.contains("it repeats no draw and limits none")
            && sampling.contains(&format!("epsilon {plain:.3}"))
    );
    assert!(sampling.contains("do not learn who was drawn"), "{sampling}");
    let spent = said(&statement, "Spent so far");
    assert!(
        spent.contains(&format!("epsilon {rdp:.3}")) && spent.contains(&format!("by {tight:.3}")),
        "{spent}"
    );
    assert!(said(&statement, "Accountant").starts_with("RDP, "));
    let hidden = "hide from every role who was drawn, how many were drawn, and how many of them reported";
    assert!(said(&statement, "Not protected").contains(hidden));
    assert!(said(&statement, "Rounds").contains("can be abandoned only before its draw"));
}

#[test]
fn the_loss_distribution_is_asked_for_releases_of_one_kind_only() {
    let task = sampled();
    let charge = super::super::terms(&task).unwrap().charge;
    let mut totals = Totals::default();
    totals.add(task.id, charge, 3);
    totals.add(task.id, Charge { participation: Participation::AtMost { count: 1 }, ..charge }, 1);
    let budget = Budget::from_totals(&task, totals, PopulationPrivacy::default()).unwrap();
    let statement = statement(&task, budget.as_ref(), 0);
    assert_eq!((statement.releases, statement.epsilon_by_loss_distribution), (4, None));
}

#[test]
fn a_delta_that_is_too_large_for_the_population_is_called_weak() {
    let task = capped("digits");
    let budget = Budget::from_totals(&task, Totals::default(), PopulationPrivacy::default()).unwrap();
    let statement = statement(&task, budget.as_ref(), 2_000_000);
    let budget = said(&statement, "Budget");
    assert!(budget.starts_with("Weak: ") && budget.contains("not below 1 / 2000000"), "{budget}");
}

#[test]
fn a_task_without_privacy_promises_nothing() {
    let plain = task("digits", &json!({ "kind": "none" }), &json!({ "kind": "uniform" }));
    let statement = statement(&plain, None, 5);
    assert!(!statement.is_private && statement.epsilon_spent.is_none());
    let [only] = statement.sentences.as_slice() else { panic!("{statement:?}") };
    assert!(only.text.starts_with("None: "));
}

#[test]
fn a_statement_survives_json() {
    for statement in [stated(&capped("digits"), 7), stated(&sampled(), 7)] {
        let text = serde_json::to_string(&statement).unwrap();
        assert_eq!(serde_json::from_str::<Statement>(&text).unwrap(), statement);
    }
}

#[test]
fn names_cannot_bring_markup_into_the_page() {
    let html = stated(&capped("<script>alert('&')</script>"), 1).html();
    assert!(!html.contains("<script"), "{html}");
    assert!(
        html.contains("<title>Privacy of &lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;</title>"),
        "{html}"
    );
    assert_eq!(html.matches("<dt>").count(), stated(&capped("digits"), 1).sentences.len());
}

#[test]
fn a_stream_of_noise_says_what_it_rests_on() {
    for (kind, words) in [("tree", "binary tree"), ("blt", "buffered Toeplitz")] {
        let privacy = json!({ "kind": "central", "epsilon": 4.0, "delta": 1e-6, "participations_max": 5,
            "clipping": { "kind": "fixed", "norm": 0.5 }, "noise": { "kind": kind, "separation": 8 } });
        let task = task(kind, &privacy, &json!({ "kind": "uniform" }));
        let [first, last] = [stated(&task, 1), stated(&task, 50)];
        assert_eq!(first.epsilon_spent, last.epsilon_spent, "all of it is spent with the first version");
        assert!(last.epsilon_spent.is_some_and(|spent| spent <= 4.0 && spent > 3.99), "{last:?}");
        assert_eq!(last.mechanism.as_deref(), Some(kind));
        assert_eq!((last.separation, last.participations_max), (Some(8), Some(5)));
        assert!(said(&last, "Mechanism").contains(words), "{last:?}");
        assert!(
            said(&last, "Participations").contains("at least 8 versions apart. Selection enforces this"),
            "{last:?}"
        );
        assert!(said(&last, "Spent so far").contains("charged with the first version"), "{last:?}");
    }
}

#[test]
fn local_noise_trusts_nobody_else() {
    let privacy = json!({ "kind": "local", "epsilon": 40.0, "delta": 1e-6, "participations_max": 2, "clipping_norm": 1.0 });
    let statement = stated(&task("local", &privacy, &json!({ "kind": "uniform" })), 3);
    assert_eq!(statement.mechanism.as_deref(), Some("local"));
    assert_eq!((statement.relation, statement.report_goal), (Some(Relation::ReplaceOne), None));
    assert!(statement.epsilon_spent.is_some_and(|spent| spent <= 40.0), "{statement:?}");
    let wanted = [
        ("Against whom", "including the coordinator and its operator"),
        ("Setting", "Local differential privacy"),
        ("Adjacency", "replaced by any other update within the clipping norm"),
        ("Released", "The coordinator receives every update"),
        ("Spent so far", "was charged before the coordinator read the first byte"),
        ("Budget", "accepts no update before its charge is stored"),
        ("Who is trusted", "The client's own software"),
        ("Mechanism", "before the update leaves the device"),
        ("Participations", "at most 2 assignments"),
        ("Rounds", "the updates that clients sent in it count"),
        ("Accountant", "the client's exact sampler"),
    ];
    for (about, text) in wanted {
        assert!(said(&statement, about).contains(text), "{about}: {}", said(&statement, about));
    }
}

/// A task whose clients add shares of the noise and mask their updates.
fn distributed() -> TaskRecord {
    let privacy = json!({
        "kind": "distributed", "epsilon": 4.0, "delta": 1e-6, "participations_max": 2, "clipping_norm": 1.0,
    });
    let mut task = task("distributed", &privacy, &json!({ "kind": "uniform" }));
    task.description.protection = Protection::SecureAggregation(SecureAggregation::default());
    task
}

#[test]
fn distributed_noise_trusts_the_other_clients() {
    let statement = stated(&distributed(), 3);
    assert_eq!(statement.mechanism.as_deref(), Some("distributed"));
    assert_eq!((statement.relation, statement.report_goal), (Some(Relation::ZeroOut), None));
    assert!(statement.epsilon_spent.is_some_and(|spent| spent <= 4.0), "{statement:?}");
    let wanted = [
        ("Against whom", "including the coordinator and its operator"),
        ("Against whom", "collude"),
        ("Setting", "sees only sums with the noise of all clients"),
        ("Adjacency", "replaced by zeros"),
        ("Released", "the sum of each round's updates with the noise"),
        ("Who is trusted", "that of the other clients of a round"),
        ("Who is trusted", "to follow the protocol of secure aggregation"),
        ("Mechanism", "masks the result before it leaves the device"),
        ("Participations", "at most 2 assignments"),
        ("Accountant", "the client's exact sampler"),
    ];
    for (about, text) in wanted {
        assert!(said(&statement, about).contains(text), "{about}: {}", said(&statement, about));
    }
}

#[test]
fn a_committee_is_trusted_in_part() {
    let mut task = distributed();
    let members = (0..3).map(|member| CommitteeKey([member; 64])).collect();
    let (colluders, threat) = (1, Threat::Malicious);
    let committee =
        CommitteeProtection { members, colluders, threat, corrupt_share: 0.1, give_up_seconds: 60 };
    task.description.protection = Protection::Committee(committee.clone());
    let trusted = "Of the committee's 3 members, at most 1 may collude with the coordinator.";
    let of_protocol = "to follow the protocol of secure aggregation";
    let statement = stated(&task, 3);
    assert!(said(&statement, "Who is trusted").contains(trusted));
    assert!(!said(&statement, "Who is trusted").contains(of_protocol));
    task.description.protection =
        Protection::Committee(CommitteeProtection { threat: Threat::HonestButCurious, ..committee });
    assert!(said(&stated(&task, 3), "Who is trusted").contains(of_protocol));
}

#[test]
fn masks_hide_single_updates_from_a_coordinator_that_adds_the_noise() {
    let mut masked = capped("masked");
    masked.description.protection = Protection::SecureAggregation(SecureAggregation::default());
    let statement = stated(&masked, 3);
    assert!(said(&statement, "Setting").contains("sees the sum of a round's updates"));
    assert!(said(&statement, "Who is trusted").contains("see the sum of a round's updates before"));
}

#[test]
fn a_task_counts_what_was_spent_on_the_versions_before_it() {
    let task = capped("clone");
    let terms = super::super::terms(&task).unwrap();
    let [first, second] = [7, 8].map(|number| TaskId::from_random_bytes([number; 16]));
    let ancestor = |task_id, population: &str, releases, is_unbounded| {
        let mut totals = Totals::default();
        totals.add(task_id, terms.charge, releases);
        let population = population.parse().unwrap();
        folkmoot_storage::Ancestor { task_id, version: releases, population, totals, is_unbounded }
    };
    let stated = |ancestors: Vec<folkmoot_storage::Ancestor>| {
        let mut totals = Totals::default();
        totals.add(task.id, terms.charge, 3);
        let budget = Budget::from_totals(&task, totals, PopulationPrivacy::default()).unwrap().unwrap();
        statement(&task, Some(&budget.descending(&task, ancestors).unwrap()), 100_000)
    };
    let alone = stated(Vec::new());
    assert_eq!(alone.epsilon_of_lineage, alone.epsilon_spent);
    // Three versions of the task and five of its ancestor must cost as much as eight versions of one task.
    let clone = stated(vec![ancestor(first, "digits", 5, false), ancestor(second, "others", 9, false)]);
    let mut eight = Totals::default();
    eight.add(task.id, terms.charge, 8);
    assert_eq!(clone.epsilon_spent, alone.epsilon_spent);
    let wanted = eight.spent(Delta::new(1e-6).unwrap()).unwrap().epsilon.get();
    assert!((clone.epsilon_of_lineage.unwrap() - wanted).abs() < 1e-9);
    let said_of = said(&clone, "Ancestors");
    assert!(said_of.contains(&format!("version 5 of the task {first}")), "{said_of}");
    assert!(said_of.contains("other populations"), "{said_of}");
    let unbounded = stated(vec![ancestor(first, "digits", 0, true)]);
    assert!(said(&unbounded, "Ancestors").contains("nothing bounds what it reveals"));
}

#[test]
fn a_population_of_users_says_so() {
    let budget = PopulationBudget { epsilon: Epsilon::new(10.0).unwrap(), delta: Delta::new(1e-7).unwrap() };
    let population = PopulationPrivacy { unit: Unit::User, budget: Some(budget) };
    let statement = stated_in(population, &capped("digits"), 20);
    assert_eq!(statement.unit, Some(Unit::User));
    assert_eq!(statement.epsilon_budget_of_population, Some(10.0));
    for (about, text) in [
        ("Unit", "with all examples on all devices"),
        ("Adjacency", "every update of one user is replaced"),
        ("Spent so far", "have cost any user"),
        ("Other tasks", "budget of epsilon 10.000 at delta 1e-7, of which "),
        ("Participations", "lets a user's updates into at most 10 versions"),
    ] {
        assert!(said(&statement, about).contains(text), "{}", said(&statement, about));
    }
}
