use wasmtime::{Store, component::HasSelf};

use super::compiled::Compiled;
use super::{
    bindings::selection::{
        ClientSelection as World,
        exports::folkmoot::strategy::selection::{Client, Draw},
    },
    run::{Host, linker, returned, store, trapped},
};
use crate::{Preferred, Role, SelectionDraw, StrategyError, Terms, different_places};

/// The maximum size of a component's state between draws, in bytes.
const STATE_BYTES_MAX: usize = 1 << 20;

/// Lets a component check its settings.
pub fn check(compiled: &Compiled, terms: &Terms) -> Result<(), StrategyError> {
    let (mut store, world) = started(compiled, terms)?;
    let checked = world.folkmoot_strategy_selection().call_check(&mut store, &terms.settings);
    returned(terms, "check", checked)
}

/// Lets a component put the clients of a draw in an order of preference.
pub fn select(
    compiled: &Compiled,
    terms: &Terms,
    draw: &SelectionDraw,
    state: &[u8],
) -> Result<Preferred, StrategyError> {
    let (mut store, world) = started(compiled, terms)?;
    let attributes: Vec<Vec<(&str, &str)>> = draw
        .clients
        .iter()
        .map(|client| client.attributes.iter().map(|(name, value)| (&**name, &**value)).collect())
        .collect();
    let clients = draw.clients.iter().zip(&attributes).map(|(client, attributes)| Client {
        key: client.key,
        examples: client.examples,
        attributes,
        starts: client.starts,
        accepted: client.accepted,
        failures: client.failures,
        last_round: client.last_round,
        loss: client.loss,
        milliseconds: client.milliseconds,
    });
    let clients: Vec<Client<'_>> = clients.collect();
    let settings = &*terms.settings;
    let facts =
        Draw { round: draw.round, version: draw.version, count: draw.count, seed: draw.seed, settings };
    let selected = world.folkmoot_strategy_selection().call_select(&mut store, facts, &clients, state);
    let selected = returned(terms, "select", selected)?;
    if selected.state.len() > STATE_BYTES_MAX {
        let found = format!("a state of {} bytes", selected.state.len());
        let expected = format!("at most {STATE_BYTES_MAX}");
        return Err(StrategyError::Wrong { function: "select", found, expected });
    }
    Ok(Preferred { places: places(&selected.clients, clients.len())?, state: selected.state })
}

/// Checks that each place belongs to a waiting client, and that no place is listed twice.
fn places(selected: &[u32], waiting: usize) -> Result<Vec<usize>, StrategyError> {
    different_places(selected.iter().copied().map(u64::from), waiting).map_err(|place| {
        let twice = if place < waiting as u64 { " twice" } else { "" };
        StrategyError::Wrong {
            function: "select",
            found: format!("the client {place}{twice}"),
            expected: format!("different numbers below {waiting}, one for each client that it prefers"),
        }
    })
}

/// Starts an instance.
fn started(compiled: &Compiled, terms: &Terms) -> Result<(Store<Host>, World), StrategyError> {
    let linker = linker(compiled, Role::Selection, |linker| {
        World::add_to_linker::<_, HasSelf<Host>>(linker, |host| host)
    })?;
    let mut store = store(terms)?;
    let world = World::instantiate(&mut store, compiled.component(), &linker);
    let world = world.map_err(|error| trapped(terms, "select", &error))?;
    Ok((store, world))
}
