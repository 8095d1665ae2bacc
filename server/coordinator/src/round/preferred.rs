//! Tests of rounds whose clients the task's own selection draws.

use folkmoot_protocol::{ClientId, Timestamp};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Collected, Effect, Gathered, Phase, Round, RoundInput, Rules, samples::round};
use crate::{
    participation::Waiting,
    scheduling::{SchedulingChoice, samples},
    selection::SelectionChoice,
};

fn own() -> SelectionChoice {
    serde_json::from_str(r#"{ "kind": "component", "component": "own.wasm" }"#).unwrap()
}

fn scheduling(json: &str) -> SchedulingChoice {
    serde_json::from_str(json).unwrap()
}

fn waiting() -> Vec<Waiting> {
    let token = |number: u8| (number < 3).then(|| "one".to_owned());
    (0..9).map(|number| Waiting { token: token(number), ..samples::waiting(number) }).collect()
}

fn ids(numbers: &[u8]) -> Vec<ClientId> {
    numbers.iter().map(|number| samples::client(*number)).collect()
}

/// Returns the result of a step at the deadline of 20 seconds: the clients that it draws, nobody if it abandons the
/// round, or as an error the clients and the number of clients for which it asks the selection.
fn step(round: &Round, input: RoundInput, rules: Rules<'_>) -> Result<Vec<ClientId>, (Vec<ClientId>, u64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (next, effects) = round.clone().step(input, rules, Timestamp(20_000), &mut rng).unwrap();
    match &effects[..] {
        [Effect::Prefer { clients, count }] => {
            assert_eq!(next, *round, "the round waits for the answer");
            Err((clients.clone(), *count))
        }
        [Effect::Assign { clients, .. }] => Ok(clients.clone()),
        [Effect::ExpireOutstanding] => Ok(Vec::new()),
        _ => panic!("{effects:?}"),
    }
}

#[test]
fn a_round_asks_the_tasks_own_selection_and_follows_its_order() {
    let policy = scheduling(
        r#"{ "kind": "synchronous", "report_goal": 4, "over_selection_factor": 1.0, "minimum_cohort": 3,
             "selection_deadline_seconds": 20, "reporting_deadline_seconds": 20 }"#,
    );
    let selection = own();
    let free = Rules::new(policy.policy(), &selection);
    let round = round();
    let given = |preferred: Option<&[u8]>| {
        RoundInput::Waiting(Gathered { waiting: waiting(), is_crowd: true, preferred: preferred.map(ids) })
    };
    assert_eq!(step(&round, given(None), free), Err((ids(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), 4)));
    assert_eq!(step(&round, given(Some(&[8, 1, 0, 2, 5])), free), Ok(ids(&[8, 1, 0, 2])));
    assert_eq!(step(&round, given(Some(&[8, 1, 0])), free), Ok(ids(&[8, 1, 0])), "three are enough");
    assert_eq!(step(&round, given(Some(&[8, 1])), free), Ok(Vec::new()), "two are too few");
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let early = round.clone().step(given(Some(&[8, 1])), free, Timestamp(19_999), &mut rng).unwrap();
    assert_eq!(early, (round.clone(), vec![]), "until the deadline, others may come");
    // At most two of four clients have the same token. Unknown tokens count as one.
    let bounded = Rules { token_share_max: Some(0.5), ..free };
    assert_eq!(step(&round, given(Some(&[1, 0, 2, 8, 7, 6])), bounded), Ok(ids(&[1, 0, 8, 7])));
    assert_eq!(step(&round, given(Some(&[1, 8, 7, 6])), bounded), Ok(Vec::new()), "only two keep the share");
}

#[test]
fn a_flow_asks_it_for_each_place() {
    let policy = scheduling(r#"{ "kind": "buffered", "buffer_goal": 4, "concurrency": 5 }"#);
    let selection = own();
    let round = Round { phase: Phase::Collecting { since: Timestamp(0) }, ..round() };
    let given = |preferred: Option<&[u8]>| {
        let preferred = preferred.map(ids);
        RoundInput::Collected(Collected { waiting: waiting(), preferred, ..Collected::default() })
    };
    let rules = Rules::new(policy.policy(), &selection);
    assert_eq!(step(&round, given(None), rules), Err((ids(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), 5)));
    assert_eq!(step(&round, given(Some(&[4, 3, 2, 1, 0, 8])), rules), Ok(ids(&[4, 3, 2, 1, 0])));
    let one = step(&round, given(Some(&[4])), rules);
    assert_eq!(one, Ok(ids(&[4])), "the other places stay free");
    // With one client of the token in the round, two more of five may start.
    let bounded = Rules { token_share_max: Some(0.75), ..rules };
    let tokens = [(Some("one".to_owned()), 1)].into();
    let preferred = Some(ids(&[0, 1, 2, 5, 6]));
    let collected = Collected { waiting: waiting(), preferred, tokens, ..Collected::default() };
    assert_eq!(step(&round, RoundInput::Collected(collected), bounded), Ok(ids(&[0, 1, 5, 6])));
}
