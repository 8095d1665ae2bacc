use wasmtime::{Store, component::HasSelf};

use super::compiled::Compiled;
use super::{
    bindings::aggregation::{
        Aggregation as World,
        exports::folkmoot::strategy::aggregator::{Commit, Update},
    },
    run::{Host, Run, linker, returned, store, trapped},
};
use crate::{AggregationCommit, Role, StrategyError, Terms};

/// The maximum number of passes over all updates.
const PASSES_MAX: u32 = 32;
/// The maximum size of a component's state in bytes.
const STATE_BYTES_MAX: usize = 16 << 20;

/// A commit of a component that combines updates.
///
/// After an error, further calls do nothing, and [`Aggregation::finish`] returns the error.
pub struct Aggregation {
    terms: Terms,
    store: Store<Host>,
    world: World,
    passes: u32,
    run: Run,
}

impl Aggregation {
    pub(crate) fn check(compiled: &Compiled, terms: &Terms) -> Result<(), StrategyError> {
        let (mut store, world) = started(compiled, terms)?;
        let checked = world.folkmoot_strategy_aggregator().call_check(&mut store, &terms.settings);
        returned(terms, "check", checked)
    }

    pub(crate) fn begin(
        compiled: &Compiled,
        terms: &Terms,
        commit: &AggregationCommit,
        state: &[u8],
    ) -> Result<Self, StrategyError> {
        let (mut store, world) = started(compiled, terms)?;
        let updates: Vec<Update> = commit
            .updates
            .iter()
            .map(|update| Update {
                weight: update.weight,
                attenuation: update.attenuation,
                staleness: update.staleness,
                examples: update.examples,
                steps: update.steps,
                loss: update.loss,
            })
            .collect();
        let commit = Commit {
            version: commit.version,
            parameters: commit.parameters,
            seed: commit.seed,
            settings: &terms.settings,
        };
        let begun = world.folkmoot_strategy_aggregator().call_begin(&mut store, commit, &updates, state);
        let passes = returned(terms, "begin", begun)?;
        if passes > PASSES_MAX {
            return Err(StrategyError::Wrong {
                function: "begin",
                found: format!("{passes} passes over all updates"),
                expected: format!("0 to {PASSES_MAX}"),
            });
        }
        Ok(Self { terms: terms.clone(), store, world, passes, run: Run::default() })
    }

    /// Returns the number of passes over all updates before they are combined.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// Measures a tile. `first` is the index of its first parameter, and `rows` has the values of each update.
    pub fn measure(&mut self, pass: u32, first: usize, rows: &[&[f32]]) {
        let Self { terms, store, world, run, .. } = self;
        run.call(|| {
            let exports = world.folkmoot_strategy_aggregator();
            returned(terms, "measure", exports.call_measure(store, pass, first as u64, rows))
        });
    }

    /// Combines a tile. After an error, the result is zeros.
    pub fn combine(&mut self, first: usize, rows: &[&[f32]]) -> Vec<f64> {
        let Self { terms, store, world, run, .. } = self;
        let parameters = rows.first().map_or(0, |row| row.len());
        let combined = run.call(|| {
            let exports = world.folkmoot_strategy_aggregator();
            let values = returned(terms, "combine", exports.call_combine(store, first as u64, rows))?;
            let found = match values.iter().position(|value| !value.is_finite()) {
                _ if values.len() != parameters => format!("{} values", values.len()),
                Some(at) => format!("{} for parameter {}", values[at], first + at),
                None => return Ok(values),
            };
            let expected = format!("a finite value for each of the tile's {parameters} parameters");
            Err(StrategyError::Wrong { function: "combine", found, expected })
        });
        combined.unwrap_or_else(|| vec![0.0; parameters])
    }

    /// Ends the commit and returns the state for the next one.
    ///
    /// # Errors
    /// The first error of the commit.
    pub fn finish(mut self) -> Result<Vec<u8>, StrategyError> {
        self.run.result()?;
        let finished = self.world.folkmoot_strategy_aggregator().call_finish(&mut self.store);
        let state = returned(&self.terms, "finish", finished)?;
        if state.len() > STATE_BYTES_MAX {
            return Err(StrategyError::Wrong {
                function: "finish",
                found: format!("a state of {} bytes", state.len()),
                expected: format!("at most {STATE_BYTES_MAX}"),
            });
        }
        Ok(state)
    }
}

/// Starts an instance.
fn started(compiled: &Compiled, terms: &Terms) -> Result<(Store<Host>, World), StrategyError> {
    let linker = linker(compiled, Role::Aggregator, |linker| {
        World::add_to_linker::<_, HasSelf<Host>>(linker, |host| host)
    })?;
    let mut store = store(terms)?;
    let world = World::instantiate(&mut store, compiled.component(), &linker);
    let world = world.map_err(|error| trapped(terms, "begin", &error))?;
    Ok((store, world))
}
