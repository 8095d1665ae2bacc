//! A component that misbehaves in the way that its settings name: `FUNCTION:WAY`, for example `combine:loop`.
//!
//! Without settings it prefers the clients that have started least often, and keeps the number of draws. It combines updates by their plain mean, keeps the number of commits as its state, and adds the aggregate to the
//! model.

use std::cell::RefCell;

use exports::folkmoot::strategy::{aggregator, finalizer, selection};
use folkmoot::strategy::host;

wit_bindgen::generate!({ path: "../../server/strategy/wit", world: "strategy" });

struct Strange;

export!(Strange);

thread_local! {
    static SETTINGS: RefCell<String> = const { RefCell::new(String::new()) };
    static STATE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Misbehaves if the settings name this function. Returns a way that only the caller knows; empty if the settings name another
/// function.
fn way(function: &str) -> Result<String, String> {
    let settings = SETTINGS.with_borrow(String::clone);
    let way = settings.split_once(':').filter(|(one, _)| *one == function).map(|(_, way)| way.to_owned());
    match way.as_deref() {
        Some("loop") => loop {
            std::hint::black_box(());
        },
        Some("memory") => {
            let mut kept: Vec<Vec<u8>> = Vec::new();
            loop {
                kept.push(vec![1; 1 << 20]);
                std::hint::black_box(&kept);
            }
        }
        Some("stack") => Ok(deeper(1).to_string()),
        Some("panic") => panic!("a component panics"),
        Some("error") => Err("nothing\nworks ".repeat(1000)),
        Some("log" | "log endlessly") => {
            (0..1000).for_each(|_| host::log(&"word ".repeat(1000)));
            if settings.ends_with("endlessly") {
                host::log("one more");
            }
            Ok(String::new())
        }
        way => Ok(way.unwrap_or_default().to_owned()),
    }
}

fn deeper(depth: u64) -> u64 {
    if depth == std::hint::black_box(0) {
        return 0;
    }
    let here = std::hint::black_box([depth; 64]);
    deeper(depth + 1) ^ here[11]
}

fn learn(settings: String) {
    SETTINGS.set(settings);
}

impl selection::Guest for Strange {
    fn check(settings: String) -> Result<(), String> {
        learn(settings);
        way("check").map(|_| ())
    }

    fn select(
        draw: selection::Draw,
        clients: Vec<selection::Client>,
        mut state: Vec<u8>,
    ) -> Result<selection::Selected, String> {
        learn(draw.settings);
        let mut places: Vec<u32> = (0..).take(clients.len()).collect();
        places.sort_by_key(|place| (clients[*place as usize].starts, clients[*place as usize].key));
        state.push(1);
        match way("select")?.as_str() {
            "twice" => places.push(places[0]),
            "stranger" => places.push(clients.len() as u32),
            "nobody" => places.clear(),
            "fail later" if state.len() > 2 => return Err("it fails in the third draw".into()),
            "state" => state = vec![0; (1 << 20) + 1],
            _ => {}
        }
        host::log(&format!("draw {}", state.len()));
        Ok(selection::Selected { clients: places, state })
    }
}

impl aggregator::Guest for Strange {
    fn check(settings: String) -> Result<(), String> {
        learn(settings);
        way("check").map(|_| ())
    }

    fn begin(
        commit: aggregator::Commit,
        _updates: Vec<aggregator::Update>,
        state: Vec<u8>,
    ) -> Result<u32, String> {
        learn(commit.settings);
        STATE.set(state);
        Ok(if way("begin")? == "passes" { 33 } else { 2 })
    }

    fn measure(_pass: u32, _first: u64, _rows: Vec<Vec<f32>>) -> Result<(), String> {
        way("measure").map(|_| ())
    }

    fn combine(_first: u64, rows: Vec<Vec<f32>>) -> Result<Vec<f64>, String> {
        let mut mean = vec![0.0; rows.first().map_or(0, Vec::len)];
        for row in &rows {
            mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value) / rows.len() as f64);
        }
        match way("combine")?.as_str() {
            "short" => mean.truncate(1),
            "nan" => mean[1] = f64::NAN,
            _ => {}
        }
        Ok(mean)
    }

    fn finish() -> Result<Vec<u8>, String> {
        if way("finish")? == "state" {
            return Ok(vec![0; (16 << 20) + 1]);
        }
        let mut state = STATE.take();
        state.push(1);
        Ok(state)
    }
}

impl finalizer::Guest for Strange {
    fn check(settings: String) -> Result<(), String> {
        learn(settings);
        way("check").map(|_| ())
    }

    fn begin(commit: finalizer::Commit) -> Result<u32, String> {
        learn(commit.settings.clone());
        Ok(match way("begin")?.as_str() {
            "slots" => 9,
            "growing" => u32::try_from(commit.version).unwrap_or(1),
            _ => 1,
        })
    }

    fn advance(
        _first: u64,
        mut weights: Vec<f32>,
        mean_delta: Vec<f64>,
        mut state: Vec<Vec<f32>>,
    ) -> Result<finalizer::Tile, String> {
        for ((weight, delta), kept) in weights.iter_mut().zip(&mean_delta).zip(&mut state[0]) {
            *weight += *delta as f32;
            *kept += *delta as f32;
        }
        match way("advance")?.as_str() {
            "short" => weights.truncate(1),
            "nan" => weights[1] = f32::NAN,
            "slots" => state.clear(),
            "kept" => state[0].truncate(1),
            _ => {}
        }
        Ok(finalizer::Tile { weights, state })
    }
}
