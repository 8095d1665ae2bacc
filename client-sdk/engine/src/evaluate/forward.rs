//! The forward pass of batches of any size: dropout is off, batch normalisation uses its running statistics.

use folkmoot_graph::program::Program;
use folkmoot_onnx::Mode;

use super::EvaluateError;
use crate::model::Model;

/// Examples that are run at once. It bounds memory and does not change the result of a row.
pub(crate) const BATCH_SIZE: usize = 256;
/// Programs besides the one that ran last are kept while all together hold no more bytes than this: of large models
/// compiling takes little of the time, and memory counts.
const PROGRAM_BYTES_MAX: usize = 16 << 20;
/// Programs that are kept, at most.
const PROGRAMS_MAX: usize = 16;

/// A model's forward pass, with a program for each number of rows.
pub(crate) struct Forward {
    model: Model,
    /// The one that ran last is the last.
    programs: Vec<(usize, Program<f32>)>,
    /// Bytes that weights and programs may take together.
    memory_bytes_max: Option<u64>,
}

impl Forward {
    /// The forward pass of this model. Nothing is compiled yet.
    pub(crate) fn new(model: &Model) -> Self {
        Self { model: model.clone(), programs: Vec::new(), memory_bytes_max: None }
    }

    /// Lets weights and compiled programs take no more than these bytes.
    pub(crate) fn limit_memory(&mut self, bytes_max: u64) {
        self.memory_bytes_max = Some(bytes_max);
    }

    /// The model.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// The outputs for features `[rows, …]`, both row-major, with as many weights as the model has parameters.
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if the model does not allow so many rows at once, or memory runs out.
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

    /// Compiles for so many rows. What there is no room for beside it goes before its memory is taken.
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

    /// Programs that are kept besides are bounded on their own.
    fn check_memory(&self, batch_size: usize, program_bytes: usize) -> Result<(), EvaluateError> {
        let needed = (4 * self.model.parameter_count()).saturating_add(program_bytes) as u64;
        match self.memory_bytes_max {
            Some(allowed) if needed > allowed => Err(EvaluateError::Memory { batch_size, needed, allowed }),
            _ => Ok(()),
        }
    }
}
