//! Runs real components that draw clients: the example, and one that misbehaves as its settings say.

#![cfg(feature = "wasmtime")]

use std::sync::{Arc, LazyLock};

use folkmoot_component::Component;
use folkmoot_strategy::{ClientFacts, Compiled, Role, SelectionDraw, Strategy, StrategyError};

const EXAMPLE: &[u8] = include_bytes!("../../../tests/strategies/strategy.wasm");
const STRANGE: &[u8] = include_bytes!("../../../tests/strategies/strange.wasm");

static COMPILED: LazyLock<[Arc<Compiled>; 2]> = LazyLock::new(|| {
    [EXAMPLE, STRANGE].map(|bytes| Arc::new(Compiled::new(bytes).expect("it is a component")))
});

fn strategy(component: usize, settings: &str) -> Strategy {
    let choice = Component {
        component: "component.wasm".parse().unwrap(),
        settings: settings.into(),
        fuel_max: 20_000_000,
        memory_mib_max: 8,
    };
    Strategy::new(COMPILED[component].clone(), &choice)
}

/// Returns a draw of `count` clients. Each client has a key, its number of examples and its last loss.
fn draw(count: u64, seed: u64, clients: &[(u64, u64, Option<f64>)]) -> SelectionDraw {
    let client = |&(key, examples, loss): &(u64, u64, Option<f64>)| ClientFacts {
        key,
        examples,
        attributes: vec![("os".into(), "linux".into())],
        starts: u64::from(loss.is_some()),
        accepted: u64::from(loss.is_some()),
        failures: 0,
        last_round: loss.map(|_| 1),
        loss,
        milliseconds: loss.map(|_| 100),
    };
    SelectionDraw { round: 2, version: 1, count, seed, clients: clients.iter().map(client).collect() }
}

#[test]
fn the_example_prefers_large_losses_among_its_candidates() {
    let known = [(7, 10, Some(0.5)), (8, 10, Some(2.0)), (9, 10, None), (10, 10, Some(1.0))];
    for seed in 0..20 {
        let preferred = strategy(0, "candidates=4").select(&draw(2, seed, &known), &[]).unwrap();
        assert_eq!(
            (preferred.places, preferred.state),
            (vec![2, 1, 3, 0], vec![]),
            "an unknown loss comes first"
        );
    }
    // With one candidate, a client is drawn in proportion to its examples: 30 of 40.
    let two = [(1, 10, Some(5.0)), (2, 30, Some(0.1))];
    let one = strategy(0, "candidates=1");
    let drawn =
        (0..2_000).filter(|seed| one.select(&draw(1, *seed, &two), &[]).unwrap().places == [1]).count();
    // The standard deviation is 19.4; the seeds are fixed.
    assert!((1_420..1_580).contains(&drawn), "{drawn} of 2000");
    // There are never fewer candidates than the round wants.
    assert_eq!(one.select(&draw(2, 3, &two), &[]).unwrap().places, [0, 1]);
    assert_eq!(one.select(&draw(2, 3, &[]), &[]).unwrap().places, [0usize; 0]);
    let wrong = strategy(0, "candidates=1.5").check(Role::Selection).unwrap_err();
    assert!(
        matches!(&wrong, StrategyError::Settings(words) if words.contains("candidates is 1.5")),
        "{wrong}"
    );
}

#[test]
fn a_component_keeps_a_state_between_draws() {
    let clients = [(9, 1, Some(1.0)), (5, 1, None), (3, 1, None)];
    let first = strategy(1, "").select(&draw(2, 1, &clients), &[]).unwrap();
    assert_eq!((&first.places[..], &first.state[..]), (&[2, 1, 0][..], &[1][..]), "by starts, then by keys");
    let second = strategy(1, "").select(&draw(2, 1, &clients), &first.state).unwrap();
    assert_eq!(second.state, [1, 1]);
}

#[test]
fn wrong_draws_are_refused() {
    for (settings, words) in [
        ("select:twice", "returned the client 2 twice; it must return different numbers below 3"),
        ("select:stranger", "returned the client 3; it must return different numbers below 3"),
        ("select:state", "returned a state of 1048577 bytes; it must return at most 1048576"),
        ("select:loop", "used all of its fuel_max = 20000000 instructions"),
        ("select:memory", "wants more memory than memory_mib_max = 8"),
        ("select:panic", "function `select` failed: "),
        ("select:error", "function `select` returned an error: nothing works"),
        ("select:log endlessly", "calls `host.log` more than 1000 times"),
    ] {
        let clients = [(9, 1, Some(1.0)), (5, 1, None), (3, 1, None)];
        let error = strategy(1, settings).select(&draw(2, 1, &clients), &[]).unwrap_err();
        assert!(error.to_string().contains(words), "{settings}: {error}");
    }
}
