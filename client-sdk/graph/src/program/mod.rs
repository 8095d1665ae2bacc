//! A graph compiled for the CPU: a list of prepared kernels over one arena.

mod compile;

use std::collections::BTreeMap;
use std::ops::Range;

use compile::{Launch, Place, Plan};

use crate::cpu::{Element, INPUTS_MAX, Workspace};
use crate::graph::{Graph, ValueId};

/// Why a program could not be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The memory for a step could not be allocated.
    #[error("a step needs {bytes} bytes of memory, which are not available; use a smaller batch")]
    OutOfMemory {
        /// The memory that a step needs, in bytes.
        bytes: usize,
    },
}

/// The maximum number of threads for a run.
const THREADS_MAX: usize = 64;

/// A graph compiled for its shapes. Running it allocates nothing and cannot fail.
pub struct Program<E> {
    launches: Vec<Launch<E>>,
    arena: Vec<E>,
    scratch: Vec<E>,
    constants: Vec<Vec<E>>,
    outputs: Vec<Vec<E>>,
    parameters: Vec<Range<usize>>,
    sizes: Sizes,
    threads: usize,
}

/// The sizes, in elements, of the memory that [`Program::reserve`] allocates, and of the values that are needed at the
/// same time.
#[derive(Debug, Clone)]
struct Sizes {
    arena: usize,
    live: usize,
    scratch: usize,
    outputs: Vec<usize>,
}

/// The memory of a program, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramMemory {
    /// The arena of activations and their gradients.
    pub arena: usize,
    /// The maximum size of the values in the arena that are needed at the same time.
    pub live: usize,
    /// The outputs, including the gradients of parameters.
    pub outputs: usize,
    /// Constant tensors.
    pub constants: usize,
    /// Workspace of the kernels.
    pub scratch: usize,
}

impl ProgramMemory {
    /// Returns the sum of all parts; `live` is part of `arena`.
    pub fn total(&self) -> usize {
        self.arena + self.outputs + self.constants + self.scratch
    }
}

impl<E: Element> Program<E> {
    /// Compiles the nodes that `outputs` depend on, for one thread. Parameter `i` is read from `parameter_ranges[i]` of
    /// the weights.
    ///
    /// # Errors
    /// Returns [`ExecuteError::OutOfMemory`] if the memory cannot be allocated.
    pub fn compile(
        graph: &Graph,
        outputs: &[ValueId],
        parameter_ranges: &[Range<usize>],
    ) -> Result<Self, ExecuteError> {
        let mut program = Self::plan(graph, outputs, parameter_ranges, 1);
        program.reserve()?;
        Ok(program)
    }

    /// Compiles the nodes for runs on this many threads, without allocating memory for runs. The number of threads
    /// affects the rounding of results.
    pub fn plan(
        graph: &Graph,
        outputs: &[ValueId],
        parameter_ranges: &[Range<usize>],
        threads: usize,
    ) -> Self {
        let threads = threads.clamp(1, THREADS_MAX);
        let plan = Plan::new(graph, outputs, threads);
        let elements =
            |index: &usize| graph.constants[*index].iter().map(|number| E::from_f64(*number)).collect();
        let Plan { arena, live, scratch, outputs, .. } = plan;
        Self {
            constants: plan.constants.iter().map(elements).collect(),
            launches: plan.launches,
            arena: Vec::new(),
            scratch: Vec::new(),
            outputs: Vec::new(),
            parameters: parameter_ranges.to_vec(),
            sizes: Sizes { arena, live, scratch, outputs },
            threads,
        }
    }

    /// Allocates the memory of runs, unless that has been done already.
    ///
    /// # Errors
    /// Returns [`ExecuteError::OutOfMemory`] if the memory cannot be allocated.
    pub fn reserve(&mut self) -> Result<(), ExecuteError> {
        if self.outputs.len() == self.sizes.outputs.len() {
            return Ok(());
        }
        let bytes = self.memory_bytes();
        let allocate = |length: usize| -> Result<Vec<E>, ExecuteError> {
            let mut elements = Vec::new();
            elements.try_reserve_exact(length).map_err(|_| ExecuteError::OutOfMemory { bytes })?;
            elements.resize(length, E::ZERO);
            Ok(elements)
        };
        self.arena = allocate(self.sizes.arena)?;
        self.scratch = allocate(self.sizes.scratch)?;
        self.outputs = self.sizes.outputs.iter().map(|length| allocate(*length)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Returns the program's memory by part.
    pub fn memory(&self) -> ProgramMemory {
        let bytes = |elements: usize| elements * size_of::<E>();
        ProgramMemory {
            arena: bytes(self.sizes.arena),
            live: bytes(self.sizes.live),
            outputs: bytes(self.sizes.outputs.iter().sum()),
            constants: bytes(self.constants.iter().map(Vec::len).sum()),
            scratch: bytes(self.sizes.scratch),
        }
    }

    /// Returns all memory of the program, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory().total()
    }

    /// Returns the number of floating-point operations in one run.
    pub fn flops(&self) -> u64 {
        self.launches.iter().map(|launch| launch.kernel.flops(launch.length)).sum()
    }

    /// Returns how many kernels of each kind one run launches.
    pub fn kernels(&self) -> BTreeMap<&'static str, usize> {
        let mut kernels = BTreeMap::new();
        self.launches.iter().for_each(|launch| *kernels.entry(launch.name).or_default() += 1);
        kernels
    }

    /// Runs all launches. `seed` determines the random numbers.
    ///
    /// # Panics
    /// Panics if the weights or an input are shorter than the graph requires, or if memory was not reserved.
    pub fn run(&mut self, weights: &[E], inputs: &[&[E]], seed: u64) {
        self.run_observed(weights, inputs, seed, &mut |_, _| {});
    }

    /// Runs all launches and calls `observe` after each operator with its name and its floating-point operations.
    pub fn run_observed(
        &mut self,
        weights: &[E],
        inputs: &[&[E]],
        seed: u64,
        observe: &mut dyn FnMut(&'static str, u64),
    ) {
        let Self { launches, arena, scratch, constants, outputs, parameters, threads, .. } = self;
        let sources = Sources { weights, inputs, constants, parameters };
        for launch in launches {
            match &launch.target {
                Place::Output(index) => {
                    // Take the target out of `outputs`, so that the other outputs can be read meanwhile. This allocates
                    // nothing.
                    let mut target = std::mem::take(&mut outputs[*index]);
                    let mut views: [&[E]; INPUTS_MAX] = [&[]; INPUTS_MAX];
                    for (view, place) in views.iter_mut().zip(&launch.reads) {
                        *view = match place {
                            Place::Arena(range) => &arena[range.clone()],
                            Place::Output(index) => &outputs[*index],
                            other => sources.view(other),
                        };
                    }
                    let workspace = Workspace { scratch, threads: *threads, seed };
                    launch.kernel.run(&views[..launch.reads.len()], &mut target, workspace);
                    outputs[*index] = target;
                }
                Place::Arena(range) => {
                    let workspace = Workspace { scratch, threads: *threads, seed };
                    run_in_arena(launch, range.clone(), arena, outputs, &sources, workspace);
                }
                _ => unreachable!("a launch writes to the arena or an output"),
            }
            observe(launch.name, launch.kernel.flops(launch.length));
        }
    }

    /// Returns the number of elements of an output.
    pub fn output_length(&self, index: usize) -> usize {
        self.sizes.outputs[index]
    }

    /// Returns the elements of an output after a run. Outputs are in the order passed to `compile`.
    pub fn output(&self, index: usize) -> &[E] {
        &self.outputs[index]
    }
}

/// The read-only data of a run.
struct Sources<'a, E> {
    weights: &'a [E],
    inputs: &'a [&'a [E]],
    constants: &'a [Vec<E>],
    parameters: &'a [Range<usize>],
}

impl<'a, E> Sources<'a, E> {
    fn view(&self, place: &Place) -> &'a [E] {
        match place {
            Place::Parameter(index) => &self.weights[self.parameters[*index].clone()],
            Place::Input(index, length) => &self.inputs[*index][..*length],
            Place::Constant(index) => &self.constants[*index],
            Place::Target => &[],
            Place::Arena(_) | Place::Output(_) => unreachable!("these are borrowed by the run"),
        }
    }
}

/// Runs a launch whose output and some of whose inputs are in the arena.
fn run_in_arena<E: Element>(
    launch: &Launch<E>,
    target: Range<usize>,
    arena: &mut [E],
    outputs: &[Vec<E>],
    sources: &Sources<'_, E>,
    workspace: Workspace<'_, E>,
) {
    let mut views: [&[E]; INPUTS_MAX] = [&[]; INPUTS_MAX];
    // Every arena input is before or after the target.
    let (before, rest) = arena.split_at_mut(target.start);
    let (written, after) = rest.split_at_mut(target.len());
    for (view, place) in views.iter_mut().zip(&launch.reads) {
        *view = match place {
            Place::Arena(range) if range.end <= target.start => &before[range.clone()],
            Place::Arena(range) => &after[range.start - target.end..range.end - target.end],
            Place::Output(index) => &outputs[*index],
            other => sources.view(other),
        };
    }
    launch.kernel.run(&views[..launch.reads.len()], written, workspace);
}
