//! Explanations of whole tasks.

use super::{
    super::{
        EvaluationKind, TemplateChoices,
        explain::{self, ModelSize},
        kinds, template,
    },
    TASK, described,
};

pub(super) fn explained(text: &str) -> String {
    let paragraphs = explain::explain(
        &described(text),
        Some(ModelSize { parameters: 1000, trained: 1000, model_bytes: 5000 }),
    );
    explain::text(&paragraphs).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_synchronous_task_is_told_with_its_numbers() {
    let text = explained(TASK);
    for sentence in [
        "Clients of the population `digits` with at least 1 example are eligible.",
        "A client trains on its examples once, in batches of 16, and minimises the cross entropy of the classes.",
        "It uses stochastic gradient descent with a learning rate of 0.1.",
        "A round selects 11 clients to get 8 updates. It waits up to 1 minute for enough clients.",
        "It commits a version as soon as it has 8 updates, or after 10 minutes if it has at least 4.",
        "Later updates are rejected, so no update is stale.",
        "The aggregate is added to the model (FedAvg).",
        "Versions are not evaluated.",
        "The task ends after 30 rounds that committed a version.",
        "It never sees the examples.",
        "For each assignment, it downloads about 4,000 bytes and uploads 4,112 bytes.",
        "The coordinator receives 16.4 kB to 45.2 kB in a round.",
    ] {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

#[test]
fn explicit_choices_of_tensors_and_rates_are_told() {
    let text = explained(&TASK.replace(
        "epochs = 1",
        "epochs = 1\nfrozen = [\"*\"]\ntrained = [\"head.*\"]\nlearning_rate_factors = [0.5, 1.0, 0.25]",
    ));
    for sentence in [
        "Tensors named head.* are trained in any case.",
        "The first 3 steps of an assignment each have a factor of the learning rate; later ones have 0.25.",
    ] {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
    let text = explained(&TASK.replace("epochs = 1", "epochs = 1\noutput = \"logits\""));
    assert!(text.contains("The loss is computed from the output logits."), "{text}");
    let text = explained(&TASK.replace("epochs = 1", "epochs = 1\nwarmup_steps = 4\nwarmup_from = 0.0"));
    assert!(text.contains("Before that, it rises from 0 times its value over 4 steps."), "{text}");
}

/// Five clients and epsilon 20 pass every check, and the model learns nothing.
#[test]
fn a_task_that_can_only_produce_noise_says_so() {
    let of = |goal: u64| {
        let private = "[aggregator]\nkind = \"uniform_mean\"\n\n[privacy]\nkind = \"central\"\nepsilon = 20.0\n\
             delta = 1e-5\nclipping = { kind = \"fixed\", norm = 1.0 }\n";
        TASK.replace("report_goal = 8", &format!("report_goal = {goal}")) + private
    };
    let warns = |goal: u64, trained: u64| {
        let described = described(&of(goal));
        let notes = explain::notes(&described, Some(trained));
        let size = ModelSize { parameters: trained, trained, model_bytes: 5000 };
        let paragraphs = explain::explain(&described, Some(size));
        let explained: Vec<&String> = paragraphs.iter().flat_map(|paragraph| &paragraph.sentences).collect();
        let note = notes.iter().find(|note| note.starts_with("The noise hides everything"));
        assert!(note.is_none_or(|note| explained.contains(&note)), "an explanation says the same");
        note.is_some()
    };
    assert!(warns(5, 4_810), "{:?}", explain::notes(&described(&of(5)), Some(4_810)));
    assert!(!warns(500, 4_810) && !warns(5, 10));
}

#[test]
fn what_is_frozen_does_not_travel() {
    let size = ModelSize { parameters: 1000, trained: 100, model_bytes: 5000 };
    let paragraphs = explain::explain(&described(TASK), Some(size));
    let text = explain::text(&paragraphs).split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "Of these, 100 are trained and sent; the others keep their values from the model file.",
        "For each assignment, it downloads about 400 bytes and uploads 512 bytes.",
    ] {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

#[test]
fn a_task_that_asks_its_stragglers_says_when_and_for_how_long() {
    let scheduling = "kind = \"aggressive_synchronous\"\ncohort = 10\ngrace_seconds = 45";
    let text = explained(&TASK.replace("kind = \"synchronous\"\nreport_goal = 8", scheduling));
    for sentence in [
        "A round selects 10 clients. It waits up to 1 minute for enough clients.",
        "When it has 5 updates, the coordinator asks the other clients to send what they have within 45 seconds.",
        "An update from a training that ended early is weighted by the examples that it used.",
        "The round commits a version when no client is outstanding. It also commits with at least 5 updates when that \
         time is over, or after 10 minutes.",
    ] {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

#[test]
fn a_buffered_task_tells_what_becomes_of_the_stale() {
    let scheduling = "kind = \"buffered\"\nbuffer_goal = 5\nconcurrency = 20\n\
        staleness = { maximum = 3, at_bound = \"reject\" }";
    let text = explained(&TASK.replace("kind = \"synchronous\"\nreport_goal = 8", scheduling));
    for sentence in [
        "Up to 20 clients train at the same time. Each starts from the newest version.",
        "Each version combines 5 updates.",
        // (1 + 1)^-0.5 and (1 + 10)^-0.5.
        "0.71 of a fresh one at an age of 1 version, 0.30 at an age of 10.",
        "An update may be at most 3 versions old; one that would get older is dropped.",
        "The coordinator stores updates and combines them when it commits a version.",
    ] {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

#[test]
fn every_choice_explains_itself_in_its_own_words() {
    for section in ["scheduling", "aggregator", "finalizer", "selection"] {
        let of = |kind: &str| {
            let mut choices =
                TemplateChoices { evaluation: Some(EvaluationKind::Federated), ..Default::default() };
            let place = match section {
                "scheduling" => &mut choices.scheduling,
                "aggregator" => &mut choices.aggregator,
                "finalizer" => &mut choices.finalizer,
                _ => &mut choices.selection,
            };
            *place = Some(kind.to_owned());
            explained(&template(&choices).unwrap())
        };
        let texts: std::collections::BTreeSet<String> = kinds(section).into_iter().map(of).collect();
        assert_eq!(texts.len(), kinds(section).len(), "two kinds of {section} say the same");
    }
}

#[test]
fn what_is_optional_is_told_when_it_is_there() {
    let more = "[eligibility]\nminimum_examples = 20\nattributes = { region = [\"eu\", \"uk\"] }\n\
        sdk_version = { at_least = \"1.2\" }\nparticipation_limit = { count = 2, hours = 24 }\n\
        cool_down_seconds = 3600\ndevice_rules = [{ attribute = \"age\", condition = { at_least = 18 } }]\n\n\
        [[compression_choices]]\nwhen = [{ attribute = \"network\", condition = { one_of = [\"3g\", \"4g\"] } }]\n\
        recipe = { codec = \"eden:1\" }\n\n\
        [evaluation]\ncentral = true\nrollback_margin = 0.05\n\n[stop]\ntarget = 0.9\n\
        plateau = { evaluations = 5 }\nhours = 2.5";
    let text = explained(&TASK.replace("[stop]", more));
    for sentence in [
        "with at least 20 examples",
        "must report the attribute `region` as one of `eu`, `uk`",
        "must be at least 1.2.",
        "may start an assignment at most 2 times within any 24 hours",
        "excluded for 1 hour",
        "supports eden:1 uses it if `network` is one of 3g, 4g;",
        "declines unless its private attribute `age` is 18 or above",
        "on the operator's own examples",
        "worse than the best one by more than 0.05",
        "when the accuracy is 0.9 or more, or when 5 evaluations in a row brought no improvement, or 2.5 hours after",
        "It does not learn the private attributes",
    ] {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

/// The first note says what one hostile client can do; notes about defaults follow.
#[test]
fn what_one_client_can_do_is_told_under_every_rule() {
    let rule = |rule: &str| TASK.replace("[stop]", &format!("[aggregator]\n{rule}\n\n[stop]"));
    let asynchronous =
        TASK.replace("kind = \"synchronous\"\nreport_goal = 8", "kind = \"asynchronous\"\nconcurrency = 8");
    let private = rule("kind = \"uniform_mean\"")
        .replace("report_goal = 8", "report_goal = 200")
        .replace("[stop]", "[privacy]\nkind = \"central\"\nepsilon = 8.0\ndelta = 1e-5\n\n[stop]");
    let bucketed = |text: &str| rule(text).replace("report_goal = 8", "report_goal = 40");
    for (task, sentence) in [
        (TASK.to_owned(), "One client has at most the influence of 3 typical clients of its round"),
        (rule("kind = \"weighted_mean\""), "Use this aggregator only if you trust all clients"),
        (rule("kind = \"uniform_mean\""), "One client of n can move every parameter by up to 16 / n."),
        (rule("kind = \"median\""), "can move a parameter no further than an honest client can"),
        (
            rule("kind = \"trimmed_mean\"\ntrim_share = 0.1"),
            "can move a parameter no further than an honest client can",
        ),
        (
            rule("kind = \"trimmed_mean\"\ntrim_share = 0.0"),
            "by up to 16 / n. To prevent this, set trim_share above 0",
        ),
        (rule("kind = \"krum\"\nbyzantine_share = 0.2"), "Single parameters have no bound"),
        (rule("kind = \"norm_bound\"\nnorm_max = 2.5"), "can move the aggregate by up to 2.5,"),
        (
            rule("kind = \"geometric_median\""),
            "Single parameters have no bound: the aggregator compares whole updates",
        ),
        (rule("kind = \"fed_nova\""), "report their own example and step counts"),
        (rule("kind = \"q_fed_avg\""), "A client that lies about its loss can outweigh all others."),
        (rule("kind = \"term\"\ntilt = -1.0"), "A client that lies about its loss can outweigh all others."),
        (
            rule("kind = \"bulyan\"\nbyzantine_share = 0.1"),
            "as close to the median of the selected updates as an honest one",
        ),
        (
            rule("kind = \"centred_clipping\"\nnorm_max = 2.5"),
            "can move the aggregate by up to 15 / n, in the L2 norm",
        ),
        (
            rule("kind = \"median\"\n[mixing]\nbyzantine_share = 0.2"),
            "Single parameters have no bound: mixing compares whole updates",
        ),
        (
            rule("kind = \"fools_gold\"\nnorm_max = 2.5"),
            "by up to 2.5, in the L2 norm, if the other deltas resemble",
        ),
        (rule("kind = \"fl_trust\""), "not make it longer than the delta that the coordinator trains itself"),
        (rule("kind = \"fed_law\""), "The more a client lowers the loss on the coordinator's examples"),
        (rule("kind = \"flame\""), "by less than 2 / n of the round's median norm"),
        (bucketed("kind = \"median\"\n[bucketing]"), "no further than the mean of an honest bucket can"),
        (
            bucketed("kind = \"centred_clipping\"\nnorm_max = 2.5\n[bucketing]\nbucket_size = 3"),
            "can move the aggregate by up to 45 / n, in the L2 norm",
        ),
        (
            asynchronous,
            "A version may combine a single update, whose client can then move every parameter by up to ± 16.",
        ),
        (private, "at most the clipping norm, divided by the report goal"),
    ] {
        let description = described(&task);
        let notes = explain::notes(&description, None);
        assert!(notes[0].contains(sentence), "{sentence}\n\n{notes:?}");
        assert!(explained(&task).contains(&notes[0]), "an explanation says the same");
        assert!(notes[1].starts_with("token_share_max is not set"), "{notes:?}");
    }
    let bound = described(&format!("token_share_max = 0.1\n{TASK}"));
    assert_eq!(explain::notes(&bound, None).len(), 1, "what is set leaves nothing open");
}

/// A rule that few people know says when to choose it, and its cost.
#[test]
fn a_robust_rule_tells_its_use_and_its_cost() {
    for (rule, sentences) in [
        (
            "kind = \"geometric_median\"\niterations = 6",
            [
                "after 6 Weiszfeld iterations from the median of each coordinate. Choose it if",
                "reads all updates 7 times",
            ],
        ),
        (
            "kind = \"bulyan\"\nbyzantine_share = 0.1",
            ["Choose it if up to 10 % of the updates may be hostile", "reads all updates 2 times"],
        ),
        (
            "kind = \"centred_clipping\"\nnorm_max = 2.5",
            ["Choose it if you know the norm of honest deltas", "reads all updates 4 times"],
        ),
        (
            "kind = \"fools_gold\"\nnorm_max = 2.5",
            [
                "(FoolsGold, without memory of earlier rounds). Before, a delta with an L2 norm above 2.5",
                "compares the directions of all pairs",
            ],
        ),
        (
            "kind = \"flame\"\nnoise_factor = 0.01",
            [
                "noise of 0.01 times the median norm, which gives no guarantee of privacy. Choose it against backdoors",
                "reads all updates 2 times; a mean of stored updates needs one pass. It also compares the directions",
            ],
        ),
        (
            "kind = \"sign_guard\"\nnorm_ratio_max = 2.5",
            [
                "their L2 norm is 0.1 to 2.5 times the round's median norm, and their shares of positive, zero and negative values, in 10 %",
                "reads all updates 2 times; a mean of stored updates needs one pass. It also clusters the updates",
            ],
        ),
        (
            "kind = \"q_fed_avg\"\nq = 2.0",
            [
                "losses to the power 2, and the step",
                "(q-FedAvg, L = 10.0000). Choose it if the model should serve all",
            ],
        ),
        (
            "kind = \"term\"\ntilt = -1.5",
            ["e to the power of -1.5 times the clients' mean training losses", "Choose a tilt above 0"],
        ),
        (
            "kind = \"geometric_median\"\n[bucketing]",
            ["random buckets of up to 2 deltas", "if up to almost half of the buckets may be hostile"],
        ),
        (
            "kind = \"trimmed_mean\"\ntrim_share = 0.1\n[bucketing]\nbucket_size = 3",
            [
                "The smallest and the largest 30 % of the values are discarded",
                "one hostile delta spoils its bucket, so the rule must leave out more",
            ],
        ),
        (
            "kind = \"geometric_median\"\n[mixing]\nbyzantine_share = 0.2",
            [
                "the deltas that are closest to it, all but 20 %. Choose mixing if",
                "reads all updates 6 times",
            ],
        ),
    ] {
        let task = TASK.replace("[stop]", &format!("[aggregator]\n{rule}\n\n[stop]"));
        // Buckets need more updates.
        let text = explained(&task.replace("report_goal = 8", "report_goal = 40"));
        for sentence in sentences {
            assert!(text.contains(sentence), "{sentence}\n\n{text}");
        }
    }
}

#[test]
fn a_step_that_grows_tells_its_use_and_its_cost() {
    let task = format!("{TASK}\n[aggregator]\nkind = \"uniform_mean\"\n\n[finalizer]\nkind = \"fed_exp\"\n");
    let text = explained(&task);
    for sentence in
        ["Choose it if clients that you trust have different data", "It costs one more pass over all updates"]
    {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

#[test]
fn corrections_of_drift_tell_their_use_and_their_cost() {
    let costs = [
        ("scaffold", "a second download of the model's size"),
        ("fed_dyn", "but no traffic"),
        ("fed_dc", "a second download of twice the model's size"),
    ];
    for (kind, cost) in costs {
        let text = explained(&format!(
            "{TASK}\n[aggregator]\nkind = \"weighted_mean\"\n\n[finalizer]\nkind = \"{kind}\"\nclients = 50\n"
        ));
        for sentence in ["Choose it if the data of 50 clients differ", cost] {
            assert!(text.contains(sentence), "{sentence}\n\n{text}");
        }
    }
}

#[test]
fn a_direction_of_all_clients_tells_its_use_and_its_cost() {
    let rule = "[aggregator]\nkind = \"uniform_mean\"";
    let text = explained(&format!("{TASK}\n{rule}\n\n[finalizer]\nkind = \"fed_cm\"\n"));
    for sentence in
        ["Choose it if the clients' data differ much and few of many", "and nothing on the client"]
    {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

#[test]
fn what_is_kept_and_trained_first_tells_its_use_and_its_cost() {
    let explained = |personal: &str| explained(&TASK.replace("[plan]\n", &format!("[plan]\n{personal}\n")));
    let ditto = explained("personal_training = { ditto = { lambda = 0.5, epochs = 2 } }");
    let moreau =
        explained("personal_training = { p_fed_me = { lambda = 15.0, learning_rate = 0.01, steps = 5 } }");
    let apfl =
        |settings: &str| explained(&format!("personal_training = {{ apfl = {{ alpha = 0.5{settings} }} }}"));
    let fed_rep = "personal = [\"head.*\"]\npersonal_training = { fed_rep = { epochs = 2 } }";
    for (text, sentence) in [
        (&ditto, "a model of its own 2 times, which a term of 0.5 keeps near the version"),
        (&ditto, "the storage of one more model on the device"),
        (
            &moreau,
            "For each batch, a client takes 5 steps of a model of its own, which a term of 15 keeps near",
        ),
        (&moreau, "Each batch costs 5 gradients instead of one"),
        (&apfl(""), "a model of its own, which has the share 0.5"),
        (&apfl(", adaptive = true"), "which has a share that begins with 0.5 and adapts to its examples"),
        (&explained(fed_rep), "A client first trains its personal tensors 2 times with the others fixed"),
    ] {
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
    }
}

#[test]
fn masks_and_who_could_remove_them_are_told() {
    let task = format!("{TASK}\n[aggregator]\nkind = \"uniform_mean\"\n");
    let among_clients = explained(&format!("{task}\n[protection.secure_aggregation]\ncorrupt_share = 0.2\n"));
    let sentence = "This holds if the coordinator follows the protocol and at most 20 % of a round's clients collude with it.";
    assert!(among_clients.contains(sentence), "{among_clients}");
    let keys = [1u8, 2, 3].map(|member| String::from(folkmoot_protocol::secure::CommitteeKey([member; 64])));
    let committee = format!("{task}\n[protection.committee]\nmembers = {keys:?}\nthreat = \"malicious\"\n");
    let committee = explained(&committee);
    let sentence = "This holds if the coordinator may tell different members of the committee about different clients and at most 1 \
                    of the committee's 3 members collude with it.";
    assert!(committee.contains(sentence), "{committee}");
}
