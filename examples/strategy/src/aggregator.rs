//! A mean of updates that are clipped to a norm which adapts from version to version: the quantile of the norms seen so far
//! (Andrew, Thakkar, McMahan and Ramaswamy 2021, "Differentially private learning with adaptive clipping", without its noise).
//!
//! Settings: `quantile`, from 0 to 1, is the share of updates that are not clipped; `rate` is the speed of adaptation.

use std::cell::RefCell;

use crate::exports::folkmoot::strategy::aggregator::{Commit, Guest, Update};
use crate::folkmoot::strategy::host;
use crate::{Strategy, read};

/// The measurements of a commit: the squared norm of each update, and the norm to which updates are clipped.
struct Clipping {
    squares: Vec<f64>,
    norm: f64,
    quantile: f64,
    rate: f64,
}

thread_local! {
    static CLIPPING: RefCell<Option<Clipping>> = const { RefCell::new(None) };
}

fn settings(text: &str) -> Result<[f64; 2], String> {
    let [quantile, rate] = read(text, [("quantile", 0.5), ("rate", 0.2)])?;
    if !(0.0..=1.0).contains(&quantile) {
        return Err(format!("quantile is {quantile}; it must be 0 to 1"));
    }
    Ok([quantile, rate])
}

fn with<T>(action: impl FnOnce(&mut Clipping) -> T) -> Result<T, String> {
    CLIPPING.with_borrow_mut(|clipping| clipping.as_mut().map(action).ok_or("begin comes first".into()))
}

impl Guest for Strategy {
    fn check(text: String) -> Result<(), String> {
        settings(&text).map(|_| ())
    }

    /// The state is the clipping norm, as eight bytes.
    fn begin(commit: Commit, updates: Vec<Update>, state: Vec<u8>) -> Result<u32, String> {
        let [quantile, rate] = settings(&commit.settings)?;
        let norm = state.try_into().map_or(1.0, f64::from_le_bytes);
        CLIPPING.set(Some(Clipping { squares: vec![0.0; updates.len()], norm, quantile, rate }));
        Ok(1)
    }

    fn measure(_pass: u32, _first: u64, rows: Vec<Vec<f32>>) -> Result<(), String> {
        with(|clipping| {
            for (sum, row) in clipping.squares.iter_mut().zip(&rows) {
                *sum += row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
            }
        })
    }

    fn combine(_first: u64, rows: Vec<Vec<f32>>) -> Result<Vec<f64>, String> {
        with(|clipping| {
            let mut mean = vec![0.0; rows.first().map_or(0, Vec::len)];
            for (square, row) in clipping.squares.iter().zip(&rows) {
                let factor = (clipping.norm / square.sqrt()).min(1.0) / rows.len() as f64;
                mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * f64::from(*value));
            }
            mean
        })
    }

    fn finish() -> Result<Vec<u8>, String> {
        with(|Clipping { squares, norm, quantile, rate }| {
            let below = squares.iter().filter(|square| square.sqrt() <= *norm).count();
            let share = below as f64 / squares.len().max(1) as f64;
            host::log(&format!("{below} of {} updates are not longer than {norm:.4}", squares.len()));
            let next = *norm * f64::exp(-*rate * (share - *quantile));
            next.to_le_bytes().to_vec()
        })
    }
}
