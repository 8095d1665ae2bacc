//! Ranges and defaults in the schema match the behaviour of the code.

use folkmoot_coordinator::task::TaskDescription;
use serde_json::{Value, json};

use super::super::{
    sample,
    shape::{self, Form, Key},
};

/// Returns one description for each kind of each choice.
fn descriptions() -> Vec<Value> {
    let task = Form::Table(shape::task().clone());
    let mut found = Vec::new();
    for section in ["scheduling", "aggregator", "finalizer", "selection"] {
        let Form::Kinds(kinds) = &shape::task().key(section).unwrap().form else { panic!("a choice") };
        for kind in kinds {
            let mut value = sample::of_form(&task, 0);
            value[section] = sample::of_form(&Form::Kinds(vec![kind.clone()]), 0);
            value["stop"] = json!({ "rounds": 1 });
            // `warmup_from` needs a warm-up.
            value["plan"]["warmup_steps"] = json!(1);
            found.push(value);
        }
    }
    found
}

/// Collects every key of a description with its JSON pointer, including absent keys.
fn visit(keys: &[Key], at: &str, value: &Value, seen: &mut Vec<(String, Key)>) {
    for key in keys {
        let at = format!("{at}/{}", key.name);
        seen.push((at.clone(), key.clone()));
        visit_form(&key.form, &at, value, seen);
    }
}

fn visit_form(form: &Form, at: &str, value: &Value, seen: &mut Vec<(String, Key)>) {
    match form {
        Form::Table(table) => visit(&table.keys, at, value, seen),
        Form::Kinds(kinds) => {
            let chosen = value.pointer(at).map(|value| &value["kind"]);
            for kind in kinds.iter().filter(|kind| chosen.is_some_and(|chosen| *chosen == kind.name.as_str()))
            {
                visit(&kind.table.keys, at, value, seen);
            }
        }
        _ => {}
    }
}

/// Sets a key, and creates missing tables around it.
fn set(value: &mut Value, pointer: &str, new: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    if !parent.is_empty() && value.pointer(parent).is_none_or(Value::is_null) {
        let form = form_at(value, parent);
        set(value, parent, sample::of_form(&form, 0));
    }
    let parent = if parent.is_empty() { value } else { value.pointer_mut(parent).unwrap() };
    parent[name] = new;
}

/// Returns the form of an absent table.
fn form_at(value: &Value, pointer: &str) -> Form {
    let mut keys = &shape::task().keys;
    let mut form = None;
    let mut at = String::new();
    for name in pointer.split('/').skip(1) {
        at = format!("{at}/{name}");
        let key = keys.iter().find(|key| key.name == name).unwrap_or_else(|| panic!("{pointer}"));
        match &key.form {
            Form::Table(inner) => keys = &inner.keys,
            Form::Kinds(kinds) => {
                let chosen = value.pointer(&at).map(|value| &value["kind"]);
                let kind =
                    kinds.iter().find(|kind| chosen.is_some_and(|chosen| *chosen == kind.name.as_str()));
                keys = &kind.unwrap_or_else(|| panic!("{pointer}")).table.keys;
            }
            _ => {}
        }
        form = Some(key.form.clone());
    }
    form.unwrap()
}

/// Sets the key at `pointer` to `number`, and returns whether the description is then rejected because of that key.
fn is_refused(mut value: Value, pointer: &str, number: f64, form: &Form) -> bool {
    let number = match form {
        Form::Whole(_) => Value::from(number as u64),
        _ => Value::from(number),
    };
    set(&mut value, pointer, number);
    let description: TaskDescription =
        serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{pointer}: {error}: {value}"));
    let field = pointer[1..].replace('/', ".");
    description.validate().iter().any(|fault| fault.field == field)
}

#[test]
fn numbers_outside_of_their_range_are_refused_and_its_ends_are_not() {
    let mut looked_at = 0;
    for value in descriptions() {
        let mut seen = Vec::new();
        visit(&shape::task().keys, "", &value, &mut seen);
        for (pointer, key) in seen {
            let is_whole = matches!(key.form, Form::Whole(_));
            let step = |end: f64| if is_whole { 1.0 } else { end.abs().max(1.0) * 1e-3 };
            let outside = [
                key.range.minimum.map(|end| end - step(end)).filter(|number| !is_whole || *number >= 0.0),
                key.range.maximum.map(|end| end + step(end)),
                key.range.above,
                key.range.below,
            ];
            for number in outside.into_iter().flatten() {
                assert!(
                    is_refused(value.clone(), &pointer, number, &key.form),
                    "{pointer} = {number} is accepted"
                );
                looked_at += 1;
            }
            // Limits that depend on other keys are skipped.
            let depends = [
                "maximum",
                "minimum_cohort",
                "report_goal",
                "chosen",
                "bound_max",
                "rollback_margin",
                "rounds",
                "bucket_size",
                "byzantine_share",
                "weight_max",
                "tiers",
                "token_share_max",
            ];
            // Example privacy needs per-example clipping, which this plan does not have.
            let is_free =
                !depends.contains(&key.name.as_str()) && !pointer.starts_with("/plan/example_privacy");
            for number in [key.range.minimum, key.range.maximum].into_iter().flatten().filter(|_| is_free) {
                assert!(
                    !is_refused(value.clone(), &pointer, number, &key.form),
                    "{pointer} = {number} is refused"
                );
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 500, "{looked_at}");
}

#[test]
fn a_default_that_is_written_out_changes_nothing() {
    let mut looked_at = 0;
    for value in descriptions() {
        let mut seen = Vec::new();
        visit(&shape::task().keys, "", &value, &mut seen);
        for (pointer, key) in seen {
            let Some(default) = key.default.clone().filter(|_| !key.is_required) else { continue };
            let mut without = value.clone();
            if without.pointer(&pointer).is_some() {
                continue;
            }
            if pointer.matches('/').count() > 1 {
                let parent = pointer.rsplit_once('/').unwrap().0;
                if without.pointer(parent).is_none_or(Value::is_null) {
                    let form = form_at(&without, parent);
                    set(&mut without, parent, sample::of_form(&form, 0));
                }
            }
            let mut with = without.clone();
            set(&mut with, &pointer, default);
            let read = |value: &Value| {
                serde_json::from_value::<TaskDescription>(value.clone())
                    .unwrap_or_else(|error| panic!("{pointer}: {error}: {value}"))
            };
            assert_eq!(read(&with), read(&without), "{pointer}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 300, "{looked_at}");
}
