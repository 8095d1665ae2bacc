//! Random numbers as a function of seed, stream and position, the same as on the CPU.

use folkmoot_graph::op::volume;

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;

const SHADER: &str = include_str!("../../shader/random.wgsl");

/// Fills the output with uniform numbers in [0, 1): SplitMix64 (Steele, Lea, Flood 2014) over a counter.
pub(crate) fn lower(lowering: &mut Lowering<'_>, stream: u64, output: (Tensor, &[usize])) {
    let mixed = mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15));
    let constant = format!("const STREAM: vec2<u32> = vec2<u32>({}u, {}u);\n", mixed as u32, mixed >> 32);
    let kernel = Kernel::each("random numbers", &(constant + SHADER), volume(output.1));
    lowering.run(Kernel { reads_step: true, ..kernel }, &[], &[("out", output.0)]);
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
