//! Runs real components: the example, and one that misbehaves as its settings say. `cargo xtask strategies` builds both.

#![cfg(feature = "wasmtime")]

use std::sync::{Arc, LazyLock};

use folkmoot_component::Component;
use folkmoot_protocol::BlobDigest;
use folkmoot_strategy::{
    AggregationCommit, COMPONENT_BYTES_MAX, Compiled, FinalizationCommit, Role, Strategies, Strategy,
    StrategyError, UpdateFacts,
};

const EXAMPLE: &[u8] = include_bytes!("../../../tests/strategies/strategy.wasm");
const STRANGE: &[u8] = include_bytes!("../../../tests/strategies/strange.wasm");

static COMPILED: LazyLock<[Arc<Compiled>; 2]> = LazyLock::new(|| {
    [EXAMPLE, STRANGE].map(|bytes| Arc::new(Compiled::new(bytes).expect("it is a component")))
});

fn choice(settings: &str, memory_mib_max: u32) -> Component {
    let fuel_max = u64::from(memory_mib_max) * 2_500_000;
    Component {
        component: "component.wasm".parse().unwrap(),
        settings: settings.into(),
        fuel_max,
        memory_mib_max,
    }
}

fn example(settings: &str) -> Strategy {
    Strategy::new(COMPILED[0].clone(), &choice(settings, 8))
}

fn strange(settings: &str) -> Strategy {
    Strategy::new(COMPILED[1].clone(), &choice(settings, 8))
}

fn commit(updates: usize, parameters: u64) -> AggregationCommit {
    let facts =
        UpdateFacts { weight: 8, attenuation: 1.0, staleness: 0, examples: 8, steps: 1, loss: Some(0.5) };
    AggregationCommit { version: 1, parameters, seed: 7, updates: vec![facts; updates] }
}

/// Returns the aggregate and the state after a commit.
fn aggregated(
    strategy: &Strategy,
    rows: &[&[f32]],
    tile: usize,
    state: &[u8],
) -> Result<(Vec<f64>, Vec<u8>), StrategyError> {
    let parameters = rows[0].len();
    let mut aggregation = strategy.aggregate(&commit(rows.len(), parameters as u64), state)?;
    let tiles = || {
        (0..parameters).step_by(tile).map(|first| {
            let end = (first + tile).min(parameters);
            (first, rows.iter().map(|row| &row[first..end]).collect::<Vec<_>>())
        })
    };
    for pass in 0..aggregation.passes() {
        tiles().for_each(|(first, rows)| aggregation.measure(pass, first, &rows));
    }
    let combined: Vec<f64> = tiles().flat_map(|(first, rows)| aggregation.combine(first, &rows)).collect();
    Ok((combined, aggregation.finish()?))
}

/// The squared norms are 25, 1 and 0.25, so with the first norm of 1 only the first update is clipped, to a fifth. Two of three
/// updates are not longer than 1, so the next norm is exp(−0.2·(2/3 − 0.5)).
#[test]
fn the_example_clips_to_a_norm_that_adapts() {
    let strategy = example("quantile=0.5 rate=0.2");
    let rows: [&[f32]; 3] = [&[3.0, 0.0, 4.0], &[0.0, -1.0, 0.0], &[0.3, 0.0, 0.4]];
    for tile in [1, 2, 3] {
        let (mean, state) = aggregated(&strategy, &rows, tile, &[]).unwrap();
        let expected = [(0.6 + 0.3) / 3.0, -1.0 / 3.0, (0.8 + 0.4) / 3.0];
        assert!(mean.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-7), "{mean:?}");
        let norm = f64::from_le_bytes(state.clone().try_into().unwrap());
        assert!((norm - (-0.2f64 * (2.0 / 3.0 - 0.5)).exp()).abs() < 1e-12, "{norm}");
        // The next commit begins with this norm.
        let (next, _) = aggregated(&strategy, &rows, tile, &state).unwrap();
        assert!((next[1] + norm / 3.0).abs() < 1e-7, "{next:?}");
        assert_eq!(
            aggregated(&strategy, &rows, tile, &[]).unwrap(),
            (mean, state),
            "it is repeated to the bit"
        );
    }
}

/// Lion: the direction is 0.1·Δ in the first commit and 0.9·0.01·Δ₁ + 0.1·Δ₂ in the second.
#[test]
fn the_example_steps_by_signs() {
    let strategy = example("rate=0.5");
    let commit = FinalizationCommit { version: 1, parameters: 3, updates: 5, mean_staleness: 0.0 };
    let mut momenta = [0.0f32; 3];
    let mut weights = [1.0f32, 2.0, 3.0];
    for (deltas, expected) in [([2.0, -4.0, 0.0], [1.5, 1.5, 3.0]), ([-0.1, 0.1, 0.5], [2.0, 1.0, 3.5])] {
        let mut finalization = strategy.finalize(&commit).unwrap();
        assert_eq!(finalization.slots(), 1);
        let (first, second) = momenta.split_at_mut(1);
        finalization.advance(0, &mut weights[..1], &deltas[..1], &mut [first]);
        finalization.advance(1, &mut weights[1..], &deltas[1..], &mut [second]);
        finalization.finish().unwrap();
        assert_eq!(weights, expected);
    }
    let expected = [0.0188, -0.0386, 0.005];
    assert!(
        momenta.iter().zip(expected).all(|(one, other): (_, f32)| (one - other).abs() < 1e-7),
        "{momenta:?}"
    );
}

#[test]
fn settings_are_checked_in_the_components_words() {
    for (role, settings, words) in [
        (Role::Aggregator, "quantile=2", "quantile is 2; it must be 0 to 1"),
        (Role::Aggregator, "speed=2", "there is no \"speed\""),
        (Role::Finalizer, "beta1=1", "beta1 is 1"),
        (Role::Finalizer, "rate", "\"rate\" is not NAME=NUMBER"),
    ] {
        let error = example(settings).check(role).unwrap_err();
        assert!(matches!(&error, StrategyError::Settings(found) if found.contains(words)), "{error}");
    }
    assert_eq!(example("").check(Role::Aggregator), Ok(()));
}

fn failed(settings: &str) -> StrategyError {
    let strategy = strange(settings);
    let rows: [&[f32]; 2] = [&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]];
    aggregated(&strategy, &rows, 2, &[]).expect_err(settings)
}

#[test]
fn a_component_that_misbehaves_ends_its_commit_and_nothing_else() {
    for function in ["begin", "measure", "combine", "finish"] {
        let out_of_fuel = failed(&format!("{function}:loop"));
        assert!(
            matches!(out_of_fuel, StrategyError::OutOfFuel { function: one, fuel_max: 20_000_000 } if one == function)
        );
        let out_of_memory = failed(&format!("{function}:memory"));
        assert!(
            matches!(out_of_memory, StrategyError::OutOfMemory { function: one, memory_mib_max: 8 } if one == function),
            "{out_of_memory}"
        );
        for way in ["stack", "panic"] {
            let trapped = failed(&format!("{function}:{way}"));
            assert!(
                matches!(trapped, StrategyError::Trapped { function: one, .. } if one == function),
                "{trapped}"
            );
        }
        let StrategyError::Returned { function: one, message } = failed(&format!("{function}:error")) else {
            panic!("{function} returns an error")
        };
        assert_eq!((one, message.len()), (function, 500));
        assert!(message.starts_with("nothing works nothing works"), "{message}");
    }
}

#[test]
fn wrong_results_are_refused() {
    for (settings, words) in [
        ("begin:passes", "returned 33 passes over all updates; it must return 0 to 32"),
        (
            "combine:short",
            "returned 1 values; it must return a finite value for each of the tile's 2 parameters",
        ),
        ("combine:nan", "returned NaN for parameter 1"),
        ("finish:state", "returned a state of 16777217 bytes"),
    ] {
        let error = match settings {
            // The state alone needs more memory than the other cases have.
            "finish:state" => {
                let large = Strategy::new(COMPILED[1].clone(), &choice(settings, 64));
                aggregated(&large, &[&[1.0, 2.0]], 2, &[]).expect_err(settings)
            }
            _ => failed(settings),
        };
        assert!(error.to_string().contains(words), "{settings}: {error}");
    }
}

#[test]
fn a_step_that_misbehaves_leaves_the_tile_as_it_was() {
    let commit = FinalizationCommit { version: 1, parameters: 3, updates: 5, mean_staleness: 0.0 };
    let begun = strange("begin:slots").finalize(&commit).err().map(|error| error.to_string());
    assert!(begun.expect("it fails").contains("9 kept values for each parameter"));
    for (way, words) in [
        ("short", "returned 1 weights; it must return 3 finite weights, and 1 lists"),
        ("nan", "returned NaN as weight 1"),
        ("slots", "returned 0 lists of kept values"),
        ("kept", "too short, too long or not finite"),
        ("loop", "used all of its fuel_max = 20000000"),
        ("panic", "failed: "),
    ] {
        let mut finalization = strange(&format!("advance:{way}")).finalize(&commit).unwrap();
        let (mut weights, mut kept) = ([1.0f32, 2.0, 3.0], [0.5f32; 3]);
        for _ in 0..2 {
            finalization.advance(0, &mut weights, &[1.0; 3], &mut [&mut kept]);
        }
        let error = finalization.finish().unwrap_err().to_string();
        assert!(error.contains(words), "{way}: {error}");
        assert_eq!((weights, kept), ([1.0, 2.0, 3.0], [0.5; 3]), "{way}");
    }
}

#[test]
fn lines_in_the_log_are_limited() {
    // `finish` is called once.
    let more = |settings| {
        let large = Strategy::new(COMPILED[1].clone(), &choice(settings, 64));
        aggregated(&large, &[&[1.0]], 1, &[])
    };
    assert!(more("finish:log").is_ok());
    let error = more("finish:log endlessly").expect_err("it is one line too much").to_string();
    assert!(error.contains("more than 1000 times"), "{error}");
}

#[test]
fn only_components_with_a_role_are_taken() {
    assert_eq!(COMPILED[1].roles(), [Role::Selection, Role::Aggregator, Role::Finalizer]);
    for (bytes, words) in [
        (&b""[..], "it does not begin as WebAssembly"),
        (b"[package]", "it does not begin as WebAssembly"),
        (b"\0asm\x01\0\0\0", "make a component of a module with `wasm-tools component new`"),
        (&STRANGE[..STRANGE.len() / 2], "not a WebAssembly component"),
    ] {
        let error = Compiled::new(bytes).err().map(|error| error.to_string()).expect("it is refused");
        assert!(error.contains(words), "{error}");
    }
    // The smallest component has no exports.
    let empty = Compiled::new(b"\0asm\x0d\0\x01\0").unwrap();
    assert_eq!(empty.roles(), []);
    let error = Strategy::new(Arc::new(empty), &choice("", 1)).check(Role::Finalizer).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the component does not export folkmoot:strategy/finalizer@0.1.0; it exports nothing"
    );
    assert!(matches!(Compiled::new(&vec![0; COMPONENT_BYTES_MAX + 1]), Err(StrategyError::TooLarge(_))));
}

#[test]
fn a_component_is_compiled_once() {
    let strategies = Strategies::default();
    let digest = BlobDigest::of(STRANGE);
    assert!(strategies.found(digest).is_none());
    let first = strategies.compiled(digest, STRANGE).unwrap();
    // The bytes are not read again.
    let second = strategies.compiled(digest, b"").unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    for number in 0..16u8 {
        strategies.compiled(BlobDigest::of(&[number]), b"\0asm\x0d\0\x01\0").unwrap();
    }
    assert!(strategies.found(digest).is_none(), "the oldest of seventeen is dropped");
}
