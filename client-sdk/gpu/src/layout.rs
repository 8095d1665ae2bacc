//! Places the tensors of a program in memory, and completes the WGSL of its kernels.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_graph::Source as Origin;
use folkmoot_graph::schedule::{Lifetime, place};

use super::GpuError;
use super::accessor::{self, Bound, Format};
use super::compile::Compiler;
use super::lowering::Draft;
use super::plan::{Binding, Buffer, Dispatch, Place, Plan};
use super::tensor::Tensor;
use super::traits::BINDINGS_MAX;

/// Functions that every kernel may call.
const MATH: &str = include_str!("../shader/shared/math.wgsl");
/// Declares the values that change in each step, like [`super::uniform::StepValues`] in Rust.
const STEP: &str = include_str!("../shader/shared/step.wgsl");

impl Compiler<'_> {
    /// Assigns memory to every tensor and completes the source of every kernel.
    ///
    /// # Errors
    /// Returns [`GpuError::TooLarge`] if a tensor is too large for a kernel.
    pub(super) fn finish(mut self) -> Result<Plan, GpuError> {
        let mut drafts = std::mem::take(&mut self.lowering.drafts);
        let (constants, constant_bytes) = self.place_constants(&drafts);
        let arena = self.place_in_arena(&drafts);
        drafts.retain(|draft| writes(draft).iter().any(|tensor| self.lowering.length(*tensor) > 0));
        let dispatches = drafts.iter().map(|draft| self.dispatch(draft)).collect::<Result<_, _>>()?;
        let kept = self.kept.iter().map(|tensor| self.homes[tensor]).collect();
        Ok(Plan { dispatches, arena, constants, constant_bytes, kept })
    }

    /// Places the constants that the kernels read.
    fn place_constants(&mut self, drafts: &[Draft]) -> (Vec<(usize, usize)>, usize) {
        let (mut constants, mut end) = (Vec::new(), 0);
        for tensor in drafts.iter().flat_map(reads) {
            let Some(value) = self.graph.values.get(tensor.0) else { continue };
            let Origin::Constant(index) = value.source else { continue };
            if self.homes.contains_key(&tensor) {
                continue;
            }
            let (length, format) = (self.lowering.length(tensor), Format::Single);
            let place = Place { buffer: Buffer::Constants, start: end, length, format };
            constants.push((index, end));
            end += place.bytes().max(1).next_multiple_of(self.traits.alignment);
            self.homes.insert(tensor, place);
        }
        (constants, end)
    }

    /// Places all remaining tensors in the arena, and returns the arena's size.
    fn place_in_arena(&mut self, drafts: &[Draft]) -> usize {
        let mut last: BTreeMap<Tensor, usize> = BTreeMap::new();
        for (step, draft) in drafts.iter().enumerate() {
            for tensor in reads(draft).into_iter().chain(writes(draft)) {
                last.insert(tensor, step);
            }
        }
        for tensor in &self.kept {
            last.insert(*tensor, drafts.len());
        }
        let mut lives: Vec<Lifetime> = Vec::new();
        let mut buffers: BTreeMap<Tensor, usize> = BTreeMap::new();
        for (step, draft) in drafts.iter().enumerate() {
            for tensor in writes(draft) {
                if self.homes.contains_key(&tensor) || buffers.contains_key(&tensor) {
                    continue;
                }
                let size = (self.lowering.length(tensor) * self.format(tensor).bytes()).max(1);
                let size = size.next_multiple_of(self.traits.alignment);
                let end = last[&tensor];
                let reused =
                    self.in_place(draft, step, size, &last, &buffers).filter(|at| lives[*at].last == step);
                let at = reused.unwrap_or_else(|| {
                    lives.push(Lifetime { size, first: step, last: end });
                    lives.len() - 1
                });
                lives[at].last = end;
                buffers.insert(tensor, at);
            }
        }
        let (offsets, arena) = place(&lives);
        for (tensor, at) in buffers {
            let (start, length, format) = (offsets[at], self.lowering.length(tensor), self.format(tensor));
            self.homes.insert(tensor, Place { buffer: Buffer::Arena, start, length, format });
        }
        // Empty tensors may have no writer.
        let read = drafts.iter().flat_map(reads).chain(self.kept.iter().copied());
        let empty: Vec<Tensor> = read.filter(|tensor| self.lowering.length(*tensor) == 0).collect();
        for tensor in empty {
            let nowhere = Place { buffer: Buffer::Arena, start: 0, length: 0, format: self.format(tensor) };
            self.homes.entry(tensor).or_insert(nowhere);
        }
        arena
    }

    /// Returns the memory of an input that an elementwise kernel can overwrite, because the kernel is its last reader
    /// and reads it element by element.
    fn in_place(
        &self,
        draft: &Draft,
        step: usize,
        size: usize,
        last: &BTreeMap<Tensor, usize>,
        buffers: &BTreeMap<Tensor, usize>,
    ) -> Option<usize> {
        let [(_, sink)] = &draft.writes[..] else { return None };
        if !draft.reads.is_empty() {
            return None;
        }
        let (chain, target) = (&sink.chain, sink.stores.first()?.1);
        chain.inputs.iter().flatten().find_map(|read| {
            let at = *buffers.get(&read.tensor)?;
            let others =
                chain.inputs.iter().flatten().filter(|other| buffers.get(&other.tensor) == Some(&at));
            let own = self.lowering.length(read.tensor) * self.format(read.tensor).bytes();
            let fits = read.view.is_none()
                && others.count() == 1
                && last.get(&read.tensor) == Some(&step)
                && self.format(read.tensor) == self.format(target)
                && own.max(1).next_multiple_of(self.traits.alignment) == size;
            fits.then_some(at)
        })
    }

    fn dispatch(&self, draft: &Draft) -> Result<Dispatch, GpuError> {
        let written: BTreeSet<Tensor> = writes(draft).into_iter().collect();
        let tensors: BTreeSet<Tensor> = reads(draft).into_iter().chain(written.iter().copied()).collect();
        // A buffer that a kernel writes must not be bound a second time in the same kernel.
        let open: BTreeSet<Buffer> = written.iter().map(|tensor| self.homes[tensor].buffer).collect();
        let mut bindings: Vec<Binding> = Vec::new();
        let mut bound: BTreeMap<Tensor, Bound> = BTreeMap::new();
        let mut by_place: Vec<(Place, Bound)> = Vec::new();
        let mut declarations = String::new();
        for tensor in tensors {
            let place = self.homes[&tensor];
            let same = |known: &&(Place, Bound)| {
                (known.0.buffer, known.0.start, known.0.format) == (place.buffer, place.start, place.format)
            };
            let known = by_place.iter().find(same).map(|(_, bound)| *bound);
            let own = known.unwrap_or_else(|| {
                let is_written = open.contains(&place.buffer);
                let own = bind(&place, is_written, self.traits.binding_bytes_max, &mut bindings);
                accessor::declare(own, is_written, &mut declarations);
                by_place.push((place, own));
                own
            });
            bound.insert(tensor, own);
        }
        if bindings.len() > BINDINGS_MAX {
            return Err(GpuError::TooLarge {
                adapter: self.traits.adapter.clone(),
                what: "tensors of a kernel",
                needed: bindings.iter().map(|binding| binding.bytes).sum(),
                allowed: BINDINGS_MAX as u64 * self.traits.binding_bytes_max,
            });
        }
        let source = source(draft, &declarations, &|tensor| bound[&tensor]);
        let kernel = &draft.kernel;
        let reads_step = kernel.reads_step;
        let (workgroups, flops) = (kernel.workgroups, kernel.flops);
        Ok(Dispatch { name: kernel.name, source, bindings, workgroups, flops, reads_step })
    }
}

/// Binds a tensor, in several parts if it is too large for one binding.
fn bind(place: &Place, is_written: bool, bytes_max: u64, bindings: &mut Vec<Binding>) -> Bound {
    let size = place.format.bytes();
    let part_elements = (bytes_max as usize / 256 * 256) / size;
    let parts = place.length.div_ceil(part_elements).max(1);
    let binding = bindings.len();
    for part in 0..parts {
        let first = part * part_elements;
        let elements = (place.length - first).min(part_elements);
        bindings.push(Binding {
            buffer: place.buffer,
            start: (place.start + first * size) as u64,
            bytes: ((elements * size).max(4) as u64).next_multiple_of(4),
            is_written,
        });
    }
    Bound { binding, parts, part_elements, format: place.format }
}

fn source(draft: &Draft, declarations: &str, bound: &dyn Fn(Tensor) -> Bound) -> String {
    let (extensions, body): (Vec<&str>, Vec<&str>) =
        draft.kernel.source.lines().partition(|line| line.starts_with("enable "));
    let mut source = String::new();
    if declarations.contains("f16") {
        source.push_str("enable f16;\n");
    }
    extensions.iter().for_each(|line| source.extend([line, "\n"]));
    if draft.kernel.reads_step {
        source.push_str(STEP);
    }
    source.push_str(declarations);
    source.push_str(MATH);
    draft.reads.iter().for_each(|(name, from)| accessor::write_load(name, from, bound, &mut source));
    draft.writes.iter().for_each(|(name, to)| accessor::write_store(name, to, bound, &mut source));
    body.iter().for_each(|line| source.extend([line, "\n"]));
    source
}

/// Returns the tensors that a draft reads.
fn reads(draft: &Draft) -> Vec<Tensor> {
    let sources = draft.reads.iter().flat_map(|(_, source)| source.tensors());
    sources.chain(draft.writes.iter().flat_map(|(_, sink)| sink.chain.tensors())).collect()
}

/// Returns the tensors that a draft writes.
fn writes(draft: &Draft) -> Vec<Tensor> {
    draft.writes.iter().flat_map(|(_, sink)| sink.stores.iter().map(|(_, tensor)| *tensor)).collect()
}
