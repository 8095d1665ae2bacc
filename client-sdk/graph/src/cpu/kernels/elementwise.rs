//! Fused chains of elementwise operators. A chain processes one tile of every operand at a time, which stays in the L1
//! cache.

use crate::cpu::element::Element;
use crate::cpu::kernels::reduce::maximum;
use crate::op::{ElementOp, broadcast_strides, volume};
use crate::op::{Instruction, Operand};

/// The maximum number of elements in a tile.
pub(crate) const TILE: usize = 512;
/// The maximum number of tensors that a chain reads.
pub(crate) const INPUTS_MAX: usize = 8;
/// The maximum number of axes of a chain. Tensors of a model have at most 8 axes, but `Tile` inserts an axis
/// before each of them and broadcasts along it.
const AXES_MAX: usize = 16;

/// The way in which a tensor is read when it is broadcast to the result's shape.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reading {
    /// The tensor has the result's shape and is read element by element.
    Direct,
    /// The tensor is read with these strides along the chain's axes.
    Strided(Vec<usize>),
}

/// A chain over tensors of known shape. The output is the result of the last instruction.
#[derive(Debug, Clone)]
pub(crate) struct Chain<E> {
    /// The number of elements per tile.
    tile: usize,
    axes: Vec<usize>,
    readings: Vec<Reading>,
    /// For each tensor, the tile of workspace into which it is read before use. Tensors that are read in place all have
    /// tile 0, which serves the one input whose memory the output overwrites.
    stages: Vec<usize>,
    stage_count: usize,
    instructions: Vec<Instruction>,
    /// The register of each instruction's result. The last one is unused, because its result goes to the output.
    registers: Vec<usize>,
    register_count: usize,
    scalars: Vec<E>,
}

impl<E: Element> Chain<E> {
    /// Prepares a chain. `inputs` are the shapes of the tensors read, `shape` is the result's.
    pub(crate) fn new(
        inputs: &[&[usize]],
        shape: &[usize],
        instructions: Vec<Instruction>,
        scalars: &[f64],
    ) -> Self {
        let strides: Vec<Vec<usize>> = inputs.iter().map(|input| broadcast_strides(input, shape)).collect();
        let (axes, strides) = merge_axes(shape, strides);
        let reading = |(strides, input): (Vec<usize>, &&[usize])| match volume(input) == volume(shape) {
            true => Reading::Direct,
            false => Reading::Strided(strides),
        };
        let readings: Vec<Reading> = strides.into_iter().zip(inputs).map(reading).collect();
        let mut stage_count = 1;
        let stage = |reading: &Reading| match reading {
            Reading::Direct => 0,
            Reading::Strided(_) => {
                stage_count += 1;
                stage_count - 1
            }
        };
        let stages = readings.iter().map(stage).collect();
        let (registers, register_count) = assign_registers(&instructions);
        let scalars = scalars.iter().map(|number| E::from_f64(*number)).collect();
        Self {
            tile: volume(shape).clamp(1, TILE),
            axes,
            readings,
            stages,
            stage_count,
            instructions,
            registers,
            register_count,
            scalars,
        }
    }

    /// Returns the number of workspace elements.
    pub(crate) fn scratch(&self) -> usize {
        (self.register_count + self.stage_count + self.scalars.len()) * self.tile
    }

    /// Returns whether input `index` is read element by element, so that the output may overwrite it in place.
    pub(crate) fn is_direct(&self, index: usize) -> bool {
        self.readings[index] == Reading::Direct
    }

    /// Returns the number of operations for each element.
    pub(crate) fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Computes the chain. An empty input slice means that `out` holds that input on entry.
    #[inline(always)]
    pub(crate) fn run(&self, inputs: &[&[E]], out: &mut [E], scratch: &mut [E]) {
        let (staged, rest) = scratch.split_at_mut(self.stage_count * self.tile);
        let (scalars, registers) = rest.split_at_mut(self.scalars.len() * self.tile);
        for (tile, number) in scalars.chunks_exact_mut(self.tile).zip(&self.scalars) {
            tile.fill(*number);
        }
        let mut start = 0;
        for out in out.chunks_mut(self.tile) {
            for ((reading, input), stage) in self.readings.iter().zip(inputs).zip(&self.stages) {
                let tile = &mut staged[stage * self.tile..][..self.tile];
                match reading {
                    Reading::Direct if input.is_empty() => tile[..out.len()].copy_from_slice(out),
                    Reading::Direct => {}
                    Reading::Strided(strides) => {
                        read_strided(&self.axes, strides, input, start, &mut tile[..out.len()]);
                    }
                }
            }
            self.run_tile(inputs, start, staged, scalars, registers, out);
            start += out.len();
        }
    }

    #[inline(always)]
    fn run_tile(
        &self,
        inputs: &[&[E]],
        start: usize,
        staged: &[E],
        scalars: &[E],
        registers: &mut [E],
        out: &mut [E],
    ) {
        let length = out.len();
        let last = self.instructions.len() - 1;
        for (number, instruction) in self.instructions.iter().enumerate() {
            // An instruction never writes a register that it reads: see `assign_registers`.
            let target = self.registers[number] * self.tile;
            let (before, rest) = registers.split_at_mut(target);
            let (written, after) = rest.split_at_mut(self.tile);
            let operand = |operand: &Operand| -> &[E] {
                match *operand {
                    Operand::Input(index) if self.is_direct(index) && !inputs[index].is_empty() => {
                        &inputs[index][start..start + length]
                    }
                    Operand::Input(index) => &staged[self.stages[index] * self.tile..][..length],
                    Operand::Scalar(index) => &scalars[index * self.tile..][..length],
                    Operand::Result(index) => match self.registers[index] * self.tile {
                        at if at < target => &before[at..at + length],
                        at => &after[at - target - self.tile..][..length],
                    },
                }
            };
            let to = if number == last { &mut *out } else { &mut written[..length] };
            match &instruction.operands[..] {
                [a] => unary(instruction.op, operand(a), to),
                [a, b] => binary(instruction.op, operand(a), operand(b), to),
                [a, b, c] => select(operand(a), operand(b), operand(c), to),
                _ => unreachable!("an operation has one to three operands"),
            }
        }
    }
}

/// Merges neighbouring axes that every tensor can read as one axis.
fn merge_axes(shape: &[usize], strides: Vec<Vec<usize>>) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut axes: Vec<usize> = Vec::new();
    let mut merged: Vec<Vec<usize>> = vec![Vec::new(); strides.len()];
    for (axis, size) in shape.iter().copied().enumerate().filter(|(_, size)| *size != 1) {
        let continues = |(merged, strides): (&Vec<usize>, &Vec<usize>)| {
            merged.last().is_some_and(|outer| *outer == strides[axis] * size)
        };
        if !axes.is_empty() && merged.iter().zip(&strides).all(continues) {
            *axes.last_mut().expect("it is not empty") *= size;
            for (merged, strides) in merged.iter_mut().zip(&strides) {
                *merged.last_mut().expect("it has as many axes") = strides[axis];
            }
        } else {
            axes.push(size);
            merged.iter_mut().zip(&strides).for_each(|(merged, strides)| merged.push(strides[axis]));
        }
    }
    assert!(axes.len() <= AXES_MAX, "the importer refuses tensors of higher rank");
    (axes, merged)
}

/// Gives each result a register that holds neither a result still needed nor an operand of the same instruction.
fn assign_registers(instructions: &[Instruction]) -> (Vec<usize>, usize) {
    let mut last_use = vec![0; instructions.len()];
    for (number, instruction) in instructions.iter().enumerate() {
        for operand in &instruction.operands {
            if let Operand::Result(result) = operand {
                last_use[*result] = number;
            }
        }
    }
    let mut busy_until: Vec<usize> = Vec::new();
    let mut registers = Vec::with_capacity(instructions.len());
    for (number, last_use) in last_use.iter().enumerate() {
        let free = busy_until.iter().position(|until| *until < number).unwrap_or(busy_until.len());
        if free == busy_until.len() {
            busy_until.push(0);
        }
        busy_until[free] = (*last_use).max(number);
        registers.push(free);
    }
    (registers, busy_until.len())
}

/// Reads `out.len()` elements, starting at row-major index `start`, with broadcasting.
#[inline(always)]
fn read_strided<E: Element>(axes: &[usize], strides: &[usize], from: &[E], start: usize, out: &mut [E]) {
    let Some((inner, outer)) = axes.split_last() else { return out.fill(from[0]) };
    let mut index = [0; AXES_MAX];
    let (mut rest, mut at) = (start, 0);
    for axis in (0..axes.len()).rev() {
        index[axis] = rest % axes[axis];
        rest /= axes[axis];
        at += index[axis] * strides[axis];
    }
    let (stride, mut done, mut first) = (strides[outer.len()], 0, index[outer.len()]);
    while done < out.len() {
        let length = (inner - first).min(out.len() - done);
        let row = &mut out[done..done + length];
        match stride {
            0 => row.fill(from[at]),
            1 => row.copy_from_slice(&from[at..at + length]),
            _ => row.iter_mut().enumerate().for_each(|(i, element)| *element = from[at + i * stride]),
        }
        done += length;
        at -= first * stride;
        first = 0;
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < axes[axis] {
                break;
            }
            at -= strides[axis] * axes[axis];
            index[axis] = 0;
        }
    }
}

#[inline(always)]
fn truth<E: Element>(is_true: bool) -> E {
    if is_true { E::ONE } else { E::ZERO }
}

#[inline(always)]
fn map<E: Element>(x: &[E], out: &mut [E], function: impl Fn(E) -> E) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = function(*x);
    }
}

#[inline(always)]
fn map2<E: Element>(a: &[E], b: &[E], out: &mut [E], function: impl Fn(E, E) -> E) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = function(*a, *b);
    }
}

#[inline(always)]
fn unary<E: Element>(op: ElementOp, x: &[E], out: &mut [E]) {
    match op {
        ElementOp::Negate => map(x, out, |x| -x),
        ElementOp::Absolute => map(x, out, E::absolute),
        ElementOp::Sign => map(x, out, |x| truth::<E>(x > E::ZERO) - truth(x < E::ZERO)),
        ElementOp::Exponential => map(x, out, E::exponential),
        ElementOp::Logarithm => map(x, out, E::logarithm),
        ElementOp::SquareRoot => map(x, out, E::square_root),
        ElementOp::Tanh => map(x, out, E::hyperbolic_tangent),
        ElementOp::Sigmoid => map(x, out, E::sigmoid),
        ElementOp::Erf => map(x, out, E::error_function),
        ElementOp::Sine => map(x, out, E::sine),
        ElementOp::Cosine => map(x, out, E::cosine),
        // NaN stays NaN, so that diverging training is noticed.
        ElementOp::Relu => map(x, out, |x| if x < E::ZERO { E::ZERO } else { x }),
        ElementOp::Floor => map(x, out, E::floor),
        ElementOp::Truncate => map(x, out, E::truncate),
        ElementOp::Not => map(x, out, |x| truth(x == E::ZERO)),
        // Only NaN differs from itself.
        #[allow(clippy::eq_op, reason = "NaN is the only number for which this is false")]
        ElementOp::IsNan => map(x, out, |x| truth(x != x)),
        ElementOp::Detach => out.copy_from_slice(x),
        _ => unreachable!("{op:?} has more than one operand"),
    }
}

#[inline(always)]
fn binary<E: Element>(op: ElementOp, a: &[E], b: &[E], out: &mut [E]) {
    match op {
        ElementOp::Add => map2(a, b, out, |a, b| a + b),
        ElementOp::Subtract => map2(a, b, out, |a, b| a - b),
        ElementOp::Multiply => map2(a, b, out, |a, b| a * b),
        ElementOp::Divide => map2(a, b, out, |a, b| a / b),
        ElementOp::Power => map2(a, b, out, E::power),
        ElementOp::Minimum => map2(a, b, out, |a, b| -maximum(-a, -b)),
        ElementOp::Maximum => map2(a, b, out, maximum),
        ElementOp::Equal => map2(a, b, out, |a, b| truth(a == b)),
        ElementOp::Less => map2(a, b, out, |a, b| truth(a < b)),
        ElementOp::LessOrEqual => map2(a, b, out, |a, b| truth(a <= b)),
        ElementOp::And => map2(a, b, out, |a, b| truth(a != E::ZERO && b != E::ZERO)),
        ElementOp::Or => map2(a, b, out, |a, b| truth(a != E::ZERO || b != E::ZERO)),
        _ => unreachable!("{op:?} does not have two operands"),
    }
}

#[inline(always)]
fn select<E: Element>(condition: &[E], a: &[E], b: &[E], out: &mut [E]) {
    for (((out, condition), a), b) in out.iter_mut().zip(condition).zip(a).zip(b) {
        // Reads both, so that the loop vectorises.
        let (a, b) = (*a, *b);
        *out = if *condition != E::ZERO { a } else { b };
    }
}
