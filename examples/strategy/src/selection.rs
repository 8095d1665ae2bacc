//! Power of choice: of some candidates, drawn in proportion to their examples, the clients with the largest losses start (Cho, Wang and
//! Joshi 2022, "Towards understanding biased client selection in federated learning", the variant rpow-d: a client's loss is that of its
//! last update, and infinite before).
//!
//! Settings: `candidates` is the number of candidates. With as many as the round wants, the draw looks at no losses.

use crate::exports::folkmoot::strategy::selection::{Client, Draw, Guest, Selected};
use crate::{Strategy, read};

fn candidates(text: &str) -> Result<usize, String> {
    let [candidates] = read(text, [("candidates", 20.0)])?;
    if !(1.0..=1e6).contains(&candidates) || candidates.fract() != 0.0 {
        return Err(format!("candidates is {candidates}; it must be a whole number, 1 to 1,000,000"));
    }
    Ok(candidates as usize)
}

/// Returns a number in (0, 1] that depends on the seed and the client (Steele, Lea and Flood 2014, SplitMix64).
fn chance(seed: u64, client: u64) -> f64 {
    let mut mixed = seed ^ client.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11).wrapping_add(1) as f64 / (1u64 << 53) as f64
}

impl Guest for Strategy {
    fn check(text: String) -> Result<(), String> {
        candidates(&text).map(|_| ())
    }

    /// Keeps no state: the coordinator has the clients' losses.
    fn select(draw: Draw, clients: Vec<Client>, _state: Vec<u8>) -> Result<Selected, String> {
        let most = candidates(&draw.settings)?.max(draw.count as usize);
        // The smallest of -ln(u) / weight are a draw without replacement in proportion to the weights (Efraimidis and Spirakis 2006).
        let mut drawn: Vec<(f64, u32)> = clients
            .iter()
            .zip(0..)
            .map(|(client, place)| {
                (-chance(draw.seed, client.key).ln() / client.examples.max(1) as f64, place)
            })
            .collect();
        drawn.sort_by(|one, other| one.0.total_cmp(&other.0));
        drawn.truncate(most);
        let loss = |place: u32| clients[place as usize].loss.unwrap_or(f64::INFINITY);
        // A stable sort: clients with the same loss stay in the order of the draw.
        drawn.sort_by(|one, other| loss(other.1).total_cmp(&loss(one.1)));
        Ok(Selected { clients: drawn.into_iter().map(|(_, place)| place).collect(), state: Vec::new() })
    }
}
