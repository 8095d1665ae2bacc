//! The forward pass for any number of rows. Dropout is off, and batch normalisation uses its running statistics.

use folkmoot_graph::program::Program;
use folkmoot_onnx::Mode;

use super::EvaluateError;
use crate::model::Model;

/// The number of examples in one run of the model. It limits memory and does not change results.
pub(crate) const BATCH_SIZE: usize = 256;
/// The maximum size of all cached programs together, in bytes. The program that ran last is cached even if it is
/// larger. Large models are not cached: their compile time matters little, but their memory does.
const PROGRAM_BYTES_MAX: usize = 16 << 20;
/// The maximum number of cached programs.
const PROGRAMS_MAX: usize = 16;

/// A model's forward pass, with one compiled program per number of rows.
pub(crate) struct Forward {
    model: Model,
    /// Programs by number of rows; the most recently used one is last.
    programs: Vec<(usize, Program<f32>)>,
    /// The maximum number of bytes for the weights and the programs together; `None` for no limit.
    memory_bytes_max: Option<u64>,
}

impl Forward {
    /// Creates the forward pass of this model. Nothing is compiled yet.
    pub(crate) fn new(model: &Model) -> Self {
        Self { model: model.clone(), programs: Vec::new(), memory_bytes_max: None }
    }

    /// Limits the total size of weights and compiled programs, in bytes.
    pub(crate) fn limit_memory(&mut self, bytes_max: u64) {
        self.memory_bytes_max = Some(bytes_max);
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// Replaces the model by the same one for sequences of another length.
    pub(crate) fn set_model(&mut self, model: Model) {
        if !model.is_same(&self.model) {
            self.programs.clear();
            self.model = model;
        }
    }

    /// Computes the outputs for features `[rows, …]`, both row-major. `weights` has one number per parameter.
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if the model does not allow this many rows at once, or memory runs out.
    pub(crate) fn run(
        &mut self,
        weights: &[f32],
        features: &[f32],
        rows: usize,
    ) -> Result<&[f32], EvaluateError> {
        let mut program = match self.programs.iter().position(|(size, _)| *size == rows) {
            Some(index) => self.programs.remove(index).1,
            None => self.compile(rows)?,
        };
        program.run(weights, &[features], 0);
        self.programs.push((rows, program));
        let last = self.programs.last().map(|(_, program)| program.output(0));
        Ok(last.expect("it was put there a line ago"))
    }

    /// Compiles the model for this many rows, unless it is compiled already.
    ///
    /// # Errors
    /// As [`Forward::run`].
    pub(crate) fn prepare(&mut self, rows: usize) -> Result<(), EvaluateError> {
        if !self.programs.iter().any(|(size, _)| *size == rows) {
            let program = self.compile(rows)?;
            self.programs.push((rows, program));
        }
        Ok(())
    }

    /// Returns the number of bytes that the compiled programs take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.programs.iter().map(|(_, program)| program.memory_bytes()).sum()
    }

    /// Compiles the model for this many rows. If the cache is full, first evicts the least recently used programs.
    fn compile(&mut self, rows: usize) -> Result<Program<f32>, EvaluateError> {
        let lowered = self.model.lower(rows, Mode::Inference)?;
        let ranges = self.model.parameter_ranges();
        let mut program = Program::plan(&lowered.graph, &[lowered.output], &ranges, 1);
        self.check_memory(rows, program.memory_bytes())?;
        let others = |programs: &[(usize, Program<f32>)]| -> usize {
            programs.iter().map(|(_, program)| program.memory_bytes()).sum()
        };
        while self.programs.len() >= PROGRAMS_MAX
            || (!self.programs.is_empty()
                && others(&self.programs) + program.memory_bytes() > PROGRAM_BYTES_MAX)
        {
            self.programs.remove(0);
        }
        program.reserve()?;
        Ok(program)
    }

    /// Checks the memory limit for the weights and one program. Other cached programs do not count: their limit is
    /// [`PROGRAM_BYTES_MAX`].
    fn check_memory(&self, batch_size: usize, program_bytes: usize) -> Result<(), EvaluateError> {
        let needed = (4 * self.model.parameter_count()).saturating_add(program_bytes) as u64;
        match self.memory_bytes_max {
            Some(allowed) if needed > allowed => Err(EvaluateError::Memory { batch_size, needed, allowed }),
            _ => Ok(()),
        }
    }
}
