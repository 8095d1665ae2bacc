use std::collections::VecDeque;

use folkmoot_protocol::{ClientId, DeviceCondition, Timestamp};

use super::*;
use crate::participation::{Candidate, History, Start};

fn eligibility(json: &str) -> Eligibility {
    serde_json::from_str(json).unwrap()
}

fn waiting() -> Waiting {
    let candidate = Candidate {
        client_id: ClientId::from_bytes([1; 16]),
        example_count: 10,
        attributes: [("site".to_owned(), "north".to_owned())].into(),
        sdk_version: "1.4.0".into(),
    };
    Waiting { candidate: candidate.into(), history: History::default(), user: None, token: None }
}

fn started(rounds: &[u64]) -> Waiting {
    let starts = rounds.iter().map(|round| Start { round_number: *round, at: Timestamp(round * 3_600_000) });
    let recent: VecDeque<Start> = starts.collect();
    Waiting { history: History { starts: recent.len() as u64, recent, ..History::default() }, ..waiting() }
}

fn verdict(json: &str, waiting: &Waiting) -> Result<(), Ineligible> {
    eligibility(json).admits(waiting, 1, Timestamp(0))
}

#[test]
fn everything_that_is_left_out_asks_for_nothing_but_one_example() {
    assert_eq!(verdict("{}", &waiting()), Ok(()));
    let mut empty = waiting();
    std::sync::Arc::make_mut(&mut empty.candidate).example_count = 0;
    assert_eq!(verdict("{}", &empty), Err(Ineligible::TooFewExamples));
    assert_eq!(verdict(r#"{"minimum_examples":10}"#, &waiting()), Ok(()));
    assert_eq!(verdict(r#"{"minimum_examples":11}"#, &waiting()), Err(Ineligible::TooFewExamples));
}

#[test]
fn an_attribute_has_one_value_or_one_of_several() {
    for good in [r#""north""#, r#"["south","north"]"#] {
        assert_eq!(verdict(&format!(r#"{{"attributes":{{"site":{good}}}}}"#), &waiting()), Ok(()));
    }
    for bad in [r#"{"site":"south"}"#, r#"{"site":["south","east"]}"#, r#"{"site":"north","other":"x"}"#] {
        let refused = verdict(&format!(r#"{{"attributes":{bad}}}"#), &waiting());
        assert_eq!(refused, Err(Ineligible::Attribute), "{bad}");
    }
    let error = serde_json::from_str::<Eligibility>(r#"{"attributes":{"site":7}}"#).unwrap_err();
    assert!(error.to_string().contains("a string or a list of strings"), "{error}");
}

#[test]
fn a_version_must_be_in_the_range() {
    let json = r#"{"sdk_version":{"at_least":"1.4","below":"2.0.0"}}"#;
    for (version, is_admitted) in
        [("1.4.0", true), ("1.10", true), ("1.3.9", false), ("2.0.0", false), ("", false), ("new", false)]
    {
        let mut client = waiting();
        std::sync::Arc::make_mut(&mut client.candidate).sdk_version = version.into();
        let expected = if is_admitted { Ok(()) } else { Err(Ineligible::SdkVersion) };
        assert_eq!(verdict(json, &client), expected, "{version}");
    }
}

#[test]
fn a_limit_counts_starts_in_rounds_in_a_row() {
    let limit = eligibility(r#"{"participation_limit":{"count":2,"rounds":5}}"#);
    // Rounds 7 to 11 contain one start, rounds 6 to 10 two.
    let admits = |round| limit.admits(&started(&[1, 6, 10]), round, Timestamp(0));
    assert_eq!(admits(10), Err(Ineligible::ParticipationLimit));
    assert_eq!(admits(11), Ok(()));
    // With a count of 1, two starts are `rounds` apart.
    let apart = eligibility(r#"{"participation_limit":{"count":1,"rounds":5}}"#);
    assert_eq!(apart.admits(&started(&[10]), 14, Timestamp(0)), Err(Ineligible::ParticipationLimit));
    assert_eq!(apart.admits(&started(&[10]), 15, Timestamp(0)), Ok(()));
}

#[test]
fn a_limit_counts_starts_in_hours() {
    let limit = eligibility(r#"{"participation_limit":{"count":1,"hours":1.5}}"#);
    // Round 10 started at hour 10. It counts until hour 11.5.
    let admits = |milliseconds| limit.admits(&started(&[2, 10]), 99, Timestamp(milliseconds));
    assert_eq!(admits(41_399_999), Err(Ineligible::ParticipationLimit));
    assert_eq!(admits(41_400_000), Ok(()));
}

#[test]
fn failures_in_a_row_double_the_cool_down() {
    let cool = eligibility(r#"{"cool_down_seconds":10}"#);
    for (failures, seconds) in [(1, 10), (2, 20), (3, 40), (7, 640), (8, 640), (u32::MAX, 640)] {
        let history = History { failures, failed_at: Some(Timestamp(5_000)), ..History::default() };
        let client = Waiting { history, ..waiting() };
        let end = Timestamp(5_000).plus_seconds(seconds);
        assert_eq!(cool.admits(&client, 1, Timestamp(end.0 - 1)), Err(Ineligible::CoolDown), "{failures}");
        assert_eq!(cool.admits(&client, 1, end), Ok(()), "{failures}");
    }
    assert_eq!(cool.admits(&waiting(), 1, Timestamp(0)), Ok(()));
}

#[test]
fn a_reason_has_a_word_and_a_sentence() {
    assert_eq!(serde_json::to_value(Ineligible::TooFewExamples).unwrap(), "too_few_examples");
    assert_eq!(serde_json::to_value(Ineligible::SdkVersion).unwrap(), "sdk_version");
    assert_eq!(Ineligible::CoolDown.to_string(), "the client is cooling down after failed assignments");
}

fn faults(eligibility: &Eligibility) -> Vec<String> {
    let mut faults = Vec::new();
    eligibility.validate(&mut faults);
    faults.into_iter().map(|fault| fault.field).collect()
}

#[test]
fn every_fault_has_its_path() {
    let good = r#"{
        "minimum_examples":1, "attributes":{"site":"north","model":["a","b"]}, "sdk_version":{"at_least":"1"},
        "participation_limit":{"count":64,"hours":24}, "cool_down_seconds":60,
        "device_rules":[{"attribute":"charge","condition":{"at_least":50}}]
    }"#;
    let good = eligibility(good);
    assert_eq!(faults(&good), Vec::<String>::new());
    assert_eq!(eligibility(&serde_json::to_string(&good).unwrap()), good);
    let bad = [
        (r#"{"attributes":{"":"x","site":[]}}"#, vec!["attributes.", "attributes.site"]),
        (r#"{"sdk_version":{}}"#, vec!["sdk_version"]),
        (r#"{"sdk_version":{"below":"one"}}"#, vec!["sdk_version"]),
        (r#"{"sdk_version":{"at_least":"2","below":"1"}}"#, vec!["sdk_version"]),
        (r#"{"participation_limit":{"count":0,"rounds":1}}"#, vec!["participation_limit.count"]),
        (r#"{"participation_limit":{"count":65,"rounds":1}}"#, vec!["participation_limit.count"]),
        (r#"{"participation_limit":{"count":1}}"#, vec!["participation_limit.rounds"]),
        (r#"{"participation_limit":{"count":1,"rounds":1,"hours":1}}"#, vec!["participation_limit.rounds"]),
        (r#"{"participation_limit":{"count":1,"rounds":0}}"#, vec!["participation_limit.rounds"]),
        (r#"{"participation_limit":{"count":1,"hours":0}}"#, vec!["participation_limit.hours"]),
        (r#"{"cool_down_seconds":0}"#, vec!["cool_down_seconds"]),
        (
            r#"{"device_rules":[{"attribute":"a","condition":{"equals":"b"}},{"attribute":"","condition":{"at_most":1}}]}"#,
            vec!["device_rules[1].attribute"],
        ),
    ];
    for (json, expected) in bad {
        let expected: Vec<String> =
            expected.into_iter().map(|field| format!("eligibility.{field}")).collect();
        assert_eq!(faults(&eligibility(json)), expected, "{json}");
    }
    let rule = DeviceRule { attribute: "a".into(), condition: DeviceCondition::AtMost(1.0) };
    let many = Eligibility { device_rules: vec![rule; 33], ..Eligibility::default() };
    assert_eq!(faults(&many), ["eligibility.device_rules"]);
    for json in [r#"{"minimum_example":1}"#, r#"{"sdk_version":{"above":"1"}}"#] {
        assert!(serde_json::from_str::<Eligibility>(json).is_err(), "{json}");
    }
}
