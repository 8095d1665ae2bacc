use wasmtime::{Store, component::HasSelf};

use super::compiled::Compiled;
use super::{
    bindings::finalization::{
        Finalization as World,
        exports::folkmoot::strategy::finalizer::{Commit, Tile},
    },
    run::{Host, Run, linker, returned, store, trapped},
};
use crate::{FinalizationCommit, Role, StrategyError, Terms};

/// The maximum number of values that are kept for each parameter.
const SLOTS_MAX: u32 = 8;

/// A commit of a component that changes the model.
///
/// After an error, further calls do nothing, and [`Finalization::finish`] returns the error.
pub struct Finalization {
    terms: Terms,
    store: Store<Host>,
    world: World,
    slots: usize,
    run: Run,
}

impl Finalization {
    pub(crate) fn check(compiled: &Compiled, terms: &Terms) -> Result<(), StrategyError> {
        let (mut store, world) = started(compiled, terms)?;
        let checked = world.folkmoot_strategy_finalizer().call_check(&mut store, &terms.settings);
        returned(terms, "check", checked)
    }

    pub(crate) fn begin(
        compiled: &Compiled,
        terms: &Terms,
        commit: &FinalizationCommit,
    ) -> Result<Self, StrategyError> {
        let (mut store, world) = started(compiled, terms)?;
        let commit = Commit {
            version: commit.version,
            parameters: commit.parameters,
            updates: commit.updates,
            mean_staleness: commit.mean_staleness,
            settings: &terms.settings,
        };
        let begun = world.folkmoot_strategy_finalizer().call_begin(&mut store, commit);
        let slots = returned(terms, "begin", begun)?;
        if slots > SLOTS_MAX {
            return Err(StrategyError::Wrong {
                function: "begin",
                found: format!("{slots} kept values for each parameter"),
                expected: format!("0 to {SLOTS_MAX}"),
            });
        }
        Ok(Self { terms: terms.clone(), store, world, slots: slots as usize, run: Run::default() })
    }

    /// Returns the number of values that are kept for each parameter between commits.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Advances a tile. `first` is the index of its first parameter. All slices have the tile's length, and `state` has one for
    /// each kept value. After an error, the tile is left as it is.
    pub fn advance(
        &mut self,
        first: usize,
        weights: &mut [f32],
        mean_delta: &[f64],
        state: &mut [&mut [f32]],
    ) {
        let Self { terms, store, world, run, .. } = self;
        let kept: Vec<&[f32]> = state.iter().map(|slot| &**slot).collect();
        let advanced = run.call(|| {
            let exports = world.folkmoot_strategy_finalizer();
            let tile = exports.call_advance(store, first as u64, weights, mean_delta, &kept);
            let tile = returned(terms, "advance", tile)?;
            checked(tile, first, weights.len(), kept.len())
        });
        let Some(tile) = advanced else { return };
        weights.copy_from_slice(&tile.weights);
        for (slot, values) in state.iter_mut().zip(&tile.state) {
            slot.copy_from_slice(values);
        }
    }

    /// Ends the commit.
    ///
    /// # Errors
    /// The first error of the commit.
    pub fn finish(self) -> Result<(), StrategyError> {
        self.run.result()
    }
}

/// Checks that a tile has the right length everywhere, and finite values.
fn checked(tile: Tile, first: usize, parameters: usize, slots: usize) -> Result<Tile, StrategyError> {
    let is_right = |values: &Vec<f32>| values.len() == parameters && values.iter().all(|one| one.is_finite());
    let found = match tile.weights.iter().position(|weight| !weight.is_finite()) {
        _ if tile.weights.len() != parameters => format!("{} weights", tile.weights.len()),
        Some(at) => format!("{} as weight {}", tile.weights[at], first + at),
        None if tile.state.len() != slots => format!("{} lists of kept values", tile.state.len()),
        None if !tile.state.iter().all(is_right) => {
            "a list of kept values that is too short, too long or not finite".into()
        }
        None => return Ok(tile),
    };
    let expected = format!("{parameters} finite weights, and {slots} lists of as many finite values");
    Err(StrategyError::Wrong { function: "advance", found, expected })
}

/// Starts an instance.
fn started(compiled: &Compiled, terms: &Terms) -> Result<(Store<Host>, World), StrategyError> {
    let linker = linker(compiled, Role::Finalizer, |linker| {
        World::add_to_linker::<_, HasSelf<Host>>(linker, |host| host)
    })?;
    let mut store = store(terms)?;
    let world = World::instantiate(&mut store, compiled.component(), &linker);
    let world = world.map_err(|error| trapped(terms, "begin", &error))?;
    Ok((store, world))
}
