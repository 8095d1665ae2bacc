//! Every kind of fault, with its line and column.

use folkmoot_protocol::DataSchema;

use super::{TASK, described, fault, faults};

/// Checks the position and the text of the only fault after a change.
fn expect(from: &str, to: &str, place: (usize, usize), field: &str, message: &str, remedy: &str) {
    let found = fault(from, to);
    let got = (found.line, found.column, found.field.as_str(), found.message.as_str(), found.remedy.as_str());
    assert_eq!(got, (place.0, place.1, field, message, remedy));
}

#[test]
fn a_whole_task_has_no_fault() {
    assert_eq!(described(TASK).validate(), []);
}

#[test]
fn an_unknown_key_has_a_suggestion() {
    let message = "there is no key `epoch` in [plan]";
    expect("epochs", "epoch", (7, 1), "plan.epoch", message, "did you mean `epochs`?");
    let message = "there is no key `report_gaol` in [scheduling]";
    expect(
        "report_goal",
        "report_gaol",
        (12, 1),
        "scheduling.report_gaol",
        message,
        "did you mean `report_goal`?",
    );
    let message = "there is no key `naem` at the top level";
    expect("name", "naem", (1, 1), "naem", message, "did you mean `name`?");
}

#[test]
fn a_misspelt_table_is_read_all_the_same() {
    let found = faults(&TASK.replace("[stop]", "[stopp]").replace("rounds = 30", "rounds = 0"));
    let found: Vec<(usize, &str)> = found.iter().map(|one| (one.line, one.field.as_str())).collect();
    assert_eq!(found, [(14, "stopp"), (15, "stop.rounds")]);
}

#[test]
fn a_key_of_another_table_or_kind_is_led_there() {
    let found = fault("[stop]", "buffer_goal = 3\n\n[stop]");
    assert_eq!((found.line, found.column), (14, 1));
    assert_eq!(found.remedy, "remove the key, or choose a kind that has it: `buffered`");
    let found = fault("population", "proximal_term = 0.1\npopulation");
    assert_eq!(found.remedy, "move the key to [plan]");
    let found = fault("rounds = 30", "rounds = 30\nzzz = 1");
    assert!(found.remedy.starts_with("use one of the known keys: `hours`"), "{}", found.remedy);
    let found = fault("[stop]", "[selection]\nkind = \"uniform\"\nzzz = 1\n\n[stop]");
    assert_eq!(found.remedy, "this table has no key but `kind`; remove the key");
}

#[test]
fn a_misspelt_kind_has_a_suggestion_and_its_table_is_read() {
    let (field, message) = ("scheduling.kind", "there is no choice `synchronus`");
    expect("\"synchronous\"", "\"synchronus\"", (11, 8), field, message, "did you mean `synchronous`?");
    let text = TASK.replace("\"synchronous\"", "\"synchronus\"").replace("goal = 8", "goal = 0");
    assert!(faults(&text).iter().any(|one| one.field == "scheduling.report_goal" && one.line == 12));
    let found = fault("kind = \"synchronous\"", "type = \"synchronous\"");
    assert_eq!((found.line, found.remedy.as_str()), (11, "did you mean `kind`?"));
    let found = fault("\"synchronous\"", "\"zzzzz\"");
    assert!(
        found.remedy.starts_with("choose one of `synchronous`, `aggressive_synchronous`"),
        "{}",
        found.remedy
    );
}

#[test]
fn a_misspelt_word_has_a_suggestion() {
    let message = "there is no choice `softmax_crossentropy`";
    let remedy = "did you mean `softmax_cross_entropy`?";
    expect("softmax_cross_entropy", "softmax_crossentropy", (5, 8), "plan.loss", message, remedy);
    let found = fault("{ sgd =", "{ sdg =");
    assert_eq!((found.line, found.column, found.remedy.as_str()), (6, 15, "did you mean `sgd`?"));
}

#[test]
fn words_want_a_value_or_none() {
    let message = "`huber` needs a value";
    let remedy = "write { huber = { delta = 1.0 } }";
    expect("\"softmax_cross_entropy\"", "\"huber\"", (5, 8), "plan.loss", message, remedy);
    let message = "`hinge` takes no value";
    expect("\"softmax_cross_entropy\"", "{ hinge = 1 }", (5, 10), "plan.loss", message, "write \"hinge\"");
    let found = fault("{ sgd = { learning_rate = 0.1 } }", "{ }");
    assert_eq!(found.message, "exactly one choice is expected; there are 0");
}

#[test]
fn a_wrong_type_says_what_to_write() {
    let message = "this is a string; expected a whole number";
    expect("epochs = 1", "epochs = \"1\"", (7, 10), "plan.epochs", message, "remove the quotes: 1");
    let message = "this is a number with a decimal point; expected a whole number";
    expect("epochs = 1", "epochs = 3.0", (7, 10), "plan.epochs", message, "write 3");
    let message = "this is a whole number; expected a string in quotes";
    expect("name = \"digits\"", "name = 5", (1, 8), "name", message, "put it in quotes: \"5\"");
    let found = fault("[plan]", "selection = \"poisson\"\n[plan]");
    assert_eq!(found.remedy, "write { kind = \"poisson\", sampling_rate = 0.01 }");
    let message = "this is a string; expected a list";
    let (to, remedy) = ("epochs = 1\nfrozen = \"a\"", "put it in brackets: [ … ]");
    expect("epochs = 1", to, (8, 10), "plan.frozen", message, remedy);
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    expect("epochs = 1", "epochs = -1", (7, 10), "plan.epochs", "it is -1", "it must be 0 to 4294967295");
    expect(
        "epochs = 1",
        "epochs = 5000000000",
        (7, 10),
        "plan.epochs",
        "it is 5000000000",
        "it must be 0 to 4294967295",
    );
    let found = fault("rounds = 30", "target = inf\nrounds = 30");
    assert_eq!((found.line, found.column, found.message.as_str()), (15, 10, "it is inf"));
    assert_eq!(described(&TASK.replace("epochs = 1", "epochs = 0x1_0")).plan.epochs, 16);
    assert_eq!(described(&TASK.replace("= 0.1", "= 1")).plan.optimizer.learning_rate(), 1.0);
}

#[test]
fn a_missing_key_is_missed_where_it_should_be() {
    let found = fault("report_goal = 8\n", "");
    assert_eq!((found.line, found.column, found.field.as_str()), (10, 2, "scheduling.report_goal"));
    assert_eq!(
        (found.message.as_str(), found.remedy.as_str()),
        ("the key is missing", "add report_goal = 100: The number of updates that a round needs")
    );
    let found = fault("[stop]\nrounds = 30\n", "");
    assert_eq!((found.line, found.field.as_str()), (1, "stop"));
    assert_eq!(found.remedy, "add [stop]: The conditions that end the task");
    let found = fault("kind = \"synchronous\"\n", "");
    assert_eq!((found.line, found.field.as_str()), (10, "scheduling.kind"));
    let found = fault("{ learning_rate = 0.1 }", "{ momentum = 0.9 }");
    assert_eq!((found.line, found.column, found.field.as_str()), (6, 15, "plan.optimizer.sgd.learning_rate"));
}

#[test]
fn a_value_out_of_its_range_is_pointed_at() {
    expect("epochs = 1", "epochs = 0", (7, 10), "plan.epochs", "it is 0", "it must be 1 or more");
    let found = fault("learning_rate = 0.1", "learning_rate = 0");
    assert_eq!((found.line, found.column, found.field.as_str()), (6, 39, "plan.optimizer.sgd.learning_rate"));
    let rules = "[[eligibility.device_rules]]\nattribute = \"a\"\ncondition = { equals = \"b\" }\n\n\
        [[eligibility.device_rules]]\nattribute = \"\"\ncondition = { at_least = 1 }\n\n[stop]";
    let found = fault("[stop]", rules);
    assert_eq!((found.line, found.field.as_str()), (19, "eligibility.device_rules[1].attribute"));
    let choices = "[[compression_choices]]\nwhen = []\nrecipe = { codec = \"eden:1\" }\n\n\
        [[compression_choices]]\nwhen = [{ attribute = \"\", condition = { equals = \"4g\" } }]\n\
        recipe = { codec = \"eden:2\" }\n\n[stop]";
    let found = faults(&TASK.replace("[stop]", choices));
    let found: Vec<(usize, &str)> = found.iter().map(|one| (one.line, one.field.as_str())).collect();
    assert_eq!(
        found,
        [(15, "compression_choices[0].when"), (19, "compression_choices[1].when[0].attribute")]
    );
    let found = fault("[stop]", "[eligibility.attributes]\n\"os.name\" = []\n\n[stop]");
    assert_eq!((found.line, found.column), (15, 13));
}

#[test]
fn a_population_has_a_name_of_its_own_kind() {
    let found = fault("population = \"digits\"", "population = \"Digits!\"");
    assert_eq!((found.line, found.column, found.field.as_str()), (2, 14, "population"));
}

#[test]
fn choices_that_do_not_go_together_are_found() {
    let found = fault("rounds = 30", "target = 0.9");
    assert_eq!((found.line, found.column, found.field.as_str()), (15, 10, "stop.target"));
    let found = fault("[stop]", "[aggregator]\nkind = \"krum\"\nbyzantine_share = 0.45\n\n[stop]");
    assert_eq!((found.line, found.field.as_str()), (16, "aggregator.byzantine_share"));
}

#[test]
fn a_line_that_is_no_toml_is_shown_and_the_rest_is_read() {
    let found = fault("name = \"digits\"", "name = digits");
    assert_eq!((found.line, found.column), (1, 8));
    assert_eq!(found.remedy, "put the string in quotes: \"digits\"");
    assert_eq!(fault("epochs = 1", "epochs = ").remedy, "give the key a value, or remove the line");
    assert_eq!(
        fault("epochs = 1", "epochs = 1\nepochs = 2").remedy,
        "the key is set twice; remove one of the lines"
    );
    let found = faults(&TASK.replacen("\"digits\"", "\"\"\"digits\"", 1));
    assert_eq!((found.len(), found[0].line, found[0].column), (1, 1, 8));
    assert_eq!(found[0].remedy, "close the multi-line string with three quotes");
    let text = TASK.replace("name = \"digits\"", "name = digits").replace("epochs = 1", "epoch = 1");
    let places: Vec<usize> = faults(&text).iter().map(|one| one.line).collect();
    assert_eq!(places, [1, 7]);
}

#[test]
fn behind_a_broken_head_nothing_is_guessed() {
    let text = TASK.replace("batch_size = 16", "batch_size = 0").replace("[scheduling]", "[scheduling");
    let found: Vec<(usize, String)> = faults(&text).into_iter().map(|one| (one.line, one.field)).collect();
    assert_eq!(found, [(8, "plan.batch_size".to_owned()), (10, String::new())]);
}

#[test]
fn a_gap_blames_nobody_else() {
    // Whether 20 is too large depends on the report goal, which cannot be read.
    let text = TASK.replace("report_goal = 8", "report_goal = \"8\"\nminimum_cohort = 20");
    let found: Vec<String> = faults(&text).into_iter().map(|one| one.field).collect();
    assert_eq!(found, ["scheduling.report_goal"]);
    // 0 is too small for every report goal.
    let text = TASK.replace("report_goal = 8", "report_goal = \"8\"\nselection_deadline_seconds = 0");
    let found: Vec<String> = faults(&text).into_iter().map(|one| one.field).collect();
    assert_eq!(found, ["scheduling.report_goal", "scheduling.selection_deadline_seconds"]);
}

#[test]
fn an_empty_file_misses_all_that_must_be_there() {
    let found = faults("");
    let fields: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(fields, ["name", "plan", "population", "scheduling", "stop"]);
    assert!(found.iter().all(|one| (one.line, one.column) == (1, 1)));
}

#[test]
fn a_file_that_is_too_large_is_not_looked_at() {
    let found = faults(&" ".repeat(super::super::TASK_FILE_BYTES_MAX + 1));
    assert!(found.len() == 1 && found[0].message.contains("1048576 are allowed"), "{found:?}");
}

#[test]
fn a_schema_may_be_a_file_or_a_table_in_the_task_file() {
    let named = described(&format!("{TASK}\n[data]\nschema = \"visits.schema.json\"\n"));
    assert_eq!(named.data_schema(), None);
    let column = r#"{ kind = "number", name = "age", mean = 51, deviation = 8.5, missing = "mean" }"#;
    let label = r#"{ kind = "class", name = "outcome", classes = ["home", "ward"] }"#;
    let text = format!("{TASK}\n[data.schema]\ncolumns = [{column}]\nlabel = {label}\n");
    assert_eq!(described(&text).data_schema().map(DataSchema::feature_shape), Some(vec![1]));
    let found = faults(&text.replace("\"mean\"", "\"maen\"").replace("8.5", "0"));
    let found: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(found, ["data.schema.columns[0]", "data.schema.columns[0].missing"]);
    let found = faults(&text.replace("8.5", "0"));
    assert_eq!((found.len(), found[0].field.as_str()), (1, "data.schema.columns[0]"));
    let text = format!("{TASK}\n[data.schema.images]\nwidth = 4\nheight = 2\nclasses = [\"cat\", \"dog\"]\n");
    assert_eq!(described(&text).data_schema().map(DataSchema::feature_shape), Some(vec![3, 2, 4]));
    let found = faults(&text.replace("height", "heigth").replace("4", "0"));
    let found: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(found, ["data.schema.images.width", "data.schema.images.heigth"]);
}
