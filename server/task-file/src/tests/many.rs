//! A file with many faults.

use std::path::Path;

use super::{super::read, faults};

const BROKEN: &str = r#"name = digits
population = "Digits"
codek = "none"

[plan]
loss = "crossentropy"
optimizer = { sgd = { learning_rate = -0.1, momentun = 0.9 } }
epochs = "one"
batch_size = 0

[scheduling]
kind = "synchronous"
report_goal = 8
over_selection_factor = 20.0
minimum_cohort = 9

[aggregator]
kind = "medain"

[evaluation]
every_versions = 0

[stop]
rounds = 0
"#;

#[test]
fn ten_faults_and_more_are_listed_at_once_in_their_order() {
    let found = faults(BROKEN);
    let places: Vec<(usize, usize, &str)> =
        found.iter().map(|one| (one.line, one.column, one.field.as_str())).collect();
    assert_eq!(
        places,
        [
            (1, 8, ""),
            (2, 14, "population"),
            (3, 1, "codek"),
            (6, 8, "plan.loss"),
            (7, 39, "plan.optimizer.sgd.learning_rate"),
            (7, 45, "plan.optimizer.sgd.momentun"),
            (8, 10, "plan.epochs"),
            (9, 14, "plan.batch_size"),
            (14, 25, "scheduling.over_selection_factor"),
            (15, 18, "scheduling.minimum_cohort"),
            (18, 8, "aggregator.kind"),
            (20, 2, "evaluation"),
            (21, 18, "evaluation.every_versions"),
            (24, 10, "stop.rounds"),
        ]
    );
}

#[test]
fn they_are_shown_under_their_lines() {
    let error = read(Path::new("task.toml"), BROKEN).unwrap_err();
    assert_eq!(error.summary(), "task.toml has 14 faults");
    let expected = "fault: plan.optimizer.sgd.momentun: there is no key `momentun` in [plan.optimizer.sgd]\n \
        --> task.toml:7:45\n  |\n7 | optimizer = { sgd = { learning_rate = -0.1, momentun = 0.9 } }\n  \
        |                                             ^^^^^^^^\n  = remedy: did you mean `momentum`?";
    assert!(error.text(false).contains(expected), "{}", error.text(false));
}
