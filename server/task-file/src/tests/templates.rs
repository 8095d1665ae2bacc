//! Every template is valid, and stays so with each of its optional lines enabled.

use super::{
    super::{EvaluationKind, TemplateChoices, kinds, template},
    described, faults,
};

fn some(kind: &str) -> Option<String> {
    Some(kind.to_owned())
}

#[test]
fn a_template_of_every_kind_has_no_fault() {
    let mut choices = vec![TemplateChoices::default()];
    let all = |section: &'static str| kinds(section).into_iter().map(some);
    choices.extend(all("scheduling").map(|scheduling| TemplateChoices { scheduling, ..Default::default() }));
    choices.extend(all("aggregator").map(|aggregator| TemplateChoices { aggregator, ..Default::default() }));
    choices.extend(all("finalizer").map(|finalizer| TemplateChoices { finalizer, ..Default::default() }));
    choices.extend(all("selection").map(|selection| TemplateChoices { selection, ..Default::default() }));
    for evaluation in [EvaluationKind::Central, EvaluationKind::Federated] {
        choices.push(TemplateChoices { evaluation: Some(evaluation), ..Default::default() });
    }
    assert_eq!(choices.len(), 1 + 8 + 22 + 13 + 8 + 2);
    for choices in choices {
        let text = template(&choices).unwrap_or_else(|error| panic!("{choices:?}: {error}"));
        let description = described(&text);
        assert_eq!(description.validate(), [], "{choices:?}");
        let value = serde_json::to_value(&description).unwrap();
        for (section, asked) in [
            ("scheduling", &choices.scheduling),
            ("aggregator", &choices.aggregator),
            ("finalizer", &choices.finalizer),
            ("selection", &choices.selection),
        ] {
            assert!(asked.is_none() || value[section]["kind"].as_str() == asked.as_deref(), "{text}");
        }
        match choices.evaluation {
            None => assert!(description.evaluation.is_none()),
            Some(EvaluationKind::Central) => assert!(description.evaluation.unwrap().central),
            Some(EvaluationKind::Federated) => assert!(description.evaluation.unwrap().federated.is_some()),
        }
    }
}

#[test]
fn every_pair_gives_a_right_template_or_says_why_not() {
    let mut refused = Vec::new();
    for scheduling in kinds("scheduling") {
        for aggregator in kinds("aggregator") {
            for selection in kinds("selection") {
                let choices = TemplateChoices {
                    scheduling: some(scheduling),
                    aggregator: some(aggregator),
                    selection: some(selection),
                    ..Default::default()
                };
                match template(&choices) {
                    Ok(text) => assert_eq!(described(&text).validate(), []),
                    Err(error) => refused.extend(error.faults.into_iter().map(|fault| fault.field)),
                }
            }
        }
    }
    refused.sort();
    refused.dedup();
    // A pair is rejected if it has no cohort to select, too few updates for a rule that compares clients, too many for Krum or
    // Bulyan, or no rounds for a rule with the coordinator's own examples.
    let expected = [
        "aggregator.byzantine_share",
        "aggregator.kind",
        "scheduling.kind",
        "scheduling.report_goal",
        "selection.kind",
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_robust_rule_can_be_had_in_a_flow() {
    let choices =
        TemplateChoices { scheduling: some("buffered"), aggregator: some("median"), ..Default::default() };
    assert!(template(&choices).unwrap().contains("\n[scheduling.staleness]\n"));
}

#[test]
fn a_finalizer_that_needs_a_plain_mean_brings_it() {
    let fed_exp = |aggregator: Option<&str>| {
        let aggregator = aggregator.map(str::to_owned);
        template(&TemplateChoices { finalizer: some("fed_exp"), aggregator, ..Default::default() })
    };
    assert!(fed_exp(None).unwrap().contains("\nkind = \"weighted_mean\"\n"));
    assert!(fed_exp(Some("uniform_mean")).unwrap().contains("\nkind = \"uniform_mean\"\n"));
    let refused = fed_exp(Some("median")).unwrap_err();
    assert_eq!(refused.faults[0].field, "finalizer.kind");
}

#[test]
fn every_line_that_can_be_switched_on_has_the_right_shape() {
    for scheduling in kinds("scheduling") {
        let text = template(&TemplateChoices { scheduling: some(scheduling), ..Default::default() }).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mut switched = 0;
        let mut head = None;
        for (place, line) in lines.iter().enumerate() {
            if line.starts_with("#[") {
                head = Some(place);
            } else if line.starts_with('[') {
                head = None;
            }
            let Some(key) = line.strip_prefix('#').filter(|rest| !rest.starts_with([' ', '['])) else {
                continue;
            };
            // A key below a disabled header needs that header too, and the required keys of its table.
            let on = |at: usize, line: &str| match head {
                _ if at == place => key.to_owned(),
                Some(head) if at == head => line[1..].to_owned(),
                _ => line.to_owned(),
            };
            let changed: Vec<String> = lines.iter().enumerate().map(|(at, line)| on(at, line)).collect();
            let found = faults(&changed.join("\n"));
            let of_shape = found.iter().find(|fault| {
                fault.field.is_empty()
                    || fault.message.starts_with("there is no")
                    || fault.message.starts_with("this is")
            });
            assert!(of_shape.is_none(), "{key}: {of_shape:?}");
            switched += 1;
        }
        assert!(switched > 30, "{switched} in {text}");
    }
}

#[test]
fn comments_explain_unit_limits_and_default() {
    let text = template(&TemplateChoices::default()).unwrap();
    let part = "# The number of seconds after the draw for which the round accepts updates.\n\
        # A whole number; 1 to 2592000; default 600.\n#reporting_deadline_seconds = 600\n";
    assert!(text.contains(part), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
}
