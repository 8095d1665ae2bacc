//! Matrix products whose elements are addressed by WGSL functions: plain products, and convolutions.

mod unrolled;

pub(super) use unrolled::lines;

use super::super::lowering::{Kernel, Lowering, grid};
use super::super::tensor::Tensor;
use super::super::tile::{DEPTH, Tile};

const SHADER: &str = include_str!("../../shader/product/product.wgsl");

/// Defines `store_element` for an output that is the row-major C of each batch.
pub(super) const STORE_ROW: &str = "\
fn store_element(batch: u32, row: u32, column: u32, value: f32) {
    store_out((batch * M + row) * N + column, value);
}
";

/// The approximate number of sums that keeps a GPU busy. If there are fewer, several workgroups share each sum. An
/// invocation computes up to 64 sums, so this is 2^14 invocations.
const SUMS_WANTED: usize = 1 << 20;
/// The minimum number of terms that one workgroup adds up for a shared sum.
const PART_MIN: usize = 128;
/// The maximum number of workgroups that share a sum.
const PARTS_MAX: usize = 256;
/// The number of parts that [`add_parts`] loads before it adds them.
const LOADED: usize = 8;

/// A batch of products `C = A B`.
pub(super) struct Product {
    /// The name in profiles.
    pub(super) name: &'static str,
    pub(super) batches: usize,
    /// The number of rows of A.
    pub(super) rows: usize,
    /// The number of terms in each sum.
    pub(super) terms: usize,
    /// The number of columns of B.
    pub(super) columns: usize,
    /// WGSL declarations used by `elements` and `store`.
    pub(super) declarations: String,
    /// WGSL functions for the elements. `a_row(batch, row)` and `a_depth(batch, k)` each return four numbers, whose
    /// meaning is up to the functions. `a_value(row, depth)` computes the element of A from them. `b_column`, `b_depth`
    /// and `b_value` do the same for B. `term_count(batch)` is the number of terms of a batch that may be nonzero.
    pub(super) elements: String,
    /// WGSL: `store_element(batch, row, column, value)`.
    pub(super) store: &'static str,
    /// True if neighbours in memory are neighbours along a row of A, not down a column.
    pub(super) a_along_k: bool,
    /// True if neighbours in memory are neighbours down a column of B, not along a row.
    pub(super) b_along_k: bool,
    /// The tensors that the functions read.
    pub(super) reads: [(&'static str, Tensor); 2],
    pub(super) output: Tensor,
}

impl Product {
    /// Appends the dispatches.
    pub(super) fn lower(&self, lowering: &mut Lowering<'_>) {
        if self.outputs() == 0 {
            return;
        }
        if self.terms == 0 {
            return store_zeros(lowering, self.name, self.output);
        }
        let part = self.part();
        let parts = self.terms.div_ceil(part);
        let kernel = self.kernel(lowering.traits().tile, part);
        if parts == 1 {
            return lowering.run(kernel, &self.reads, &[("out", self.output)]);
        }
        let partial = lowering.temporary(self.outputs() * parts);
        lowering.run(kernel, &self.reads, &[("part", partial)]);
        let declarations = [&*self.constants(), &self.declarations, self.store].concat();
        let store = "store_element(i / (M * N), i / N % M, i % N, sum);";
        let sums = add_parts(self.name, &declarations, store, self.outputs(), parts);
        lowering.run(sums, &[("part", partial)], &[("out", self.output)]);
    }

    fn outputs(&self) -> usize {
        self.batches * self.rows * self.columns
    }

    /// Returns the number of terms that one workgroup adds up. It depends only on the shapes, so that the order is the
    /// same on every GPU.
    fn part(&self) -> usize {
        let parts = (SUMS_WANTED / self.outputs()).min(self.terms / PART_MIN).clamp(1, PARTS_MAX);
        if parts == 1 { self.terms } else { self.terms.div_ceil(parts).next_multiple_of(DEPTH) }
    }

    fn kernel(&self, tile: Tile, part: usize) -> Kernel {
        let parts = self.terms.div_ceil(part);
        let tile = tile.fitted(self.rows, self.columns, self.batches * parts);
        let sizes = tile.sizes(self.rows, self.columns, self.batches * self.terms);
        let down = self.rows.div_ceil(sizes.tile[0]);
        let across = self.columns.div_ceil(sizes.tile[1]);
        let tiles = down * across * self.batches * parts;
        let [groups_across, groups_down] = grid(tiles);
        let main = match tile {
            Tile::Direct => unrolled::direct(sizes),
            Tile::Subgroup => unrolled::subgroup(sizes),
            _ => unrolled::tiled(sizes),
        };
        let own = [
            ("PART", part),
            ("TILE_ROWS", sizes.tile[0]),
            ("TILE_COLUMNS", sizes.tile[1]),
            ("TILES_DOWN", down),
            ("TILES_ACROSS", across),
            ("TILES", tiles),
            ("GROUPS_ACROSS", groups_across),
            ("INVOCATIONS", sizes.invocations().iter().product()),
            ("INVOCATIONS_ACROSS", sizes.invocations()[1]),
            ("SUMS", sizes.sums()),
            ("DEPTH", DEPTH),
            ("A_BANKS", banks(self.a_along_k)),
            ("B_BANKS", banks(self.b_along_k)),
        ];
        let store = if parts == 1 { self.store } else { "" };
        let source = [
            &*self.constants(),
            &self.declarations,
            &constants(&own),
            &self.flags(part),
            &self.elements,
            store,
            &self.target(parts),
            SHADER,
            &main,
        ]
        .concat();
        let flops = 2 * (self.outputs() * self.terms) as u64;
        let workgroups = [groups_across as u32, groups_down as u32, 1];
        Kernel { name: self.name, source, workgroups, flops, reads_step: false }
    }

    fn constants(&self) -> String {
        constants(&[("M", self.rows), ("K", self.terms), ("N", self.columns), ("BATCHES", self.batches)])
    }

    fn flags(&self, part: usize) -> String {
        let divides = self.terms.is_multiple_of(DEPTH) && part.is_multiple_of(DEPTH);
        let flags =
            [("A_ALONG_K", self.a_along_k), ("B_ALONG_K", self.b_along_k), ("DEPTH_DIVIDES", divides)];
        flags.map(|(name, flag)| format!("const {name}: bool = {flag};\n")).concat()
    }

    /// Returns WGSL for `store_product`, which stores an element of C or of a part of it.
    fn target(&self, parts: usize) -> String {
        let body = match parts {
            1 => "store_element(batch, row, column, value);",
            _ => "store_part((batch * M + row) * N + column, value);",
        };
        format!("fn store_product(batch: u32, row: u32, column: u32, value: f32) {{ {body} }}\n")
    }
}

/// Appends the kernel that adds up the parts of each sum, in order, if several workgroups shared the sum. `store` is a
/// statement that uses `sum` and its index `i`.
pub(super) fn add_parts(
    name: &'static str,
    declarations: &str,
    store: &str,
    sums: usize,
    parts: usize,
) -> Kernel {
    // The loads of a round do not wait for each other, nor for the sum.
    let round: String = (0..LOADED)
        .map(|ahead| format!("let p{ahead} = load_part(i + (part + {ahead}u) * {sums}u);\n"))
        .chain((0..LOADED).map(|ahead| format!("sum += p{ahead};\n")))
        .collect();
    let rounds_end = 1 + (parts - 1) / LOADED * LOADED;
    let body = format!(
        "fn element(i: u32) {{\n\
         var sum = load_part(i);\n\
         for (var part = 1u; part < {rounds_end}u; part += {LOADED}u) {{\n{round}}}\n\
         for (var part = {rounds_end}u; part < {parts}u; part += 1u) {{ sum += load_part(i + part * {sums}u); }}\n\
         {store}\n}}\n"
    );
    Kernel::each(name, &[declarations, &body].concat(), sums)
}

/// Appends a kernel that stores zeros, the value of sums without terms.
pub(super) fn store_zeros(lowering: &mut Lowering<'_>, name: &'static str, output: Tensor) {
    let kernel = Kernel::each(name, "fn element(i: u32) { store_out(i, 0.0); }", lowering.length(output));
    lowering.run(kernel, &[], &[("out", output)]);
}

/// Returns the mask of bits in which neighbours that are written together must differ.
fn banks(along_k: bool) -> usize {
    if along_k { 7 } else { 0 }
}

/// Returns WGSL constants.
pub(super) fn constants(numbers: &[(&str, usize)]) -> String {
    numbers.iter().map(|(name, number)| format!("const {name}: u32 = {number}u;\n")).collect()
}
