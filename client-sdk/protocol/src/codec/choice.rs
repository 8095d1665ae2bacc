use serde::{Deserialize, Serialize};

use super::fault::{Faults, RecipeFault};

/// The block of a rotation: it fits into the first cache of any processor, and rotates well.
pub const ROTATION_BLOCK: u32 = 4096;
/// The smallest block of a rotation.
const ROTATED_BLOCK_MIN: u32 = 64;
/// The largest rank of a factor.
const RANK_MAX: u32 = 1024;
/// The relative errors, by L2 norm, that sufficient factors may be allowed, besides 0.
const FACTOR_ERRORS: std::ops::RangeInclusive<f64> = 1e-6..=0.1;
/// Rounds of a warm-up, at most.
const WARMUP_ROUNDS_MAX: u32 = 10_000;
/// Power iterations, at most.
const ITERATIONS_MAX: u32 = 100;

/// How the values of a tensor travel.
///
/// As a text: the name, the first number behind a colon, the others behind commas: `eden:4`,
/// `qsgd:15,bucket=1024`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Codec {
    /// Float32, as they are.
    None,
    /// IEEE binary16, rounded to the nearest. Magnitudes above 65,504 become that, those below 3e-8 become 0.
    Fp16,
    /// bfloat16, rounded to the nearest: relative error at most 2^-8.
    Bf16,
    /// Evenly spaced levels between the least and the largest value of a block, rounded at random: unbiased.
    Fixed {
        /// Bits of a value, from 1 to 8.
        bits: u8,
        /// Values of a block: a power of two from 2 (rotated 64) to 65,536.
        #[serde(default = "rotation_block")]
        block: u32,
        /// Whether blocks are rotated first, which bounds the error of values with a heavy tail.
        #[serde(default)]
        rotated: bool,
    },
    /// QSGD (Alistarh et al. 2017): signed levels of a bucket's norm, rounded at random, entropy-coded:
    /// unbiased.
    Qsgd {
        /// Levels above zero, from 1 to 127.
        levels: u8,
        /// Values of a bucket: a power of two from 2 to 65,536.
        #[serde(default = "qsgd_bucket")]
        bucket: u32,
    },
    /// TernGrad (Wen et al. 2017): -1, 0 or 1 times the largest magnitude, at random: unbiased where nothing
    /// is clipped.
    Ternary {
        /// Values are clipped at so many standard deviations of their tile, above 0; 2.5 in the paper.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clip_deviations: Option<f64>,
    },
    /// 1-bit SGD (Seide et al. 2014): signs, and the mean of each. Biased: it wants a memory.
    OneBit,
    /// Scaled sign (Bernstein et al. 2018; Karimireddy et al. 2019): signs and the mean magnitude. Biased: it
    /// wants a memory.
    Sign,
    /// Elements that the seed picks.
    RandomK {
        /// The share of the elements, above 0 and at most 1.
        share: f64,
        /// Whether they are scaled up, so that the mean is the value.
        #[serde(default = "yes")]
        unbiased: bool,
    },
    /// The largest elements (Aji and Heafield 2017). Biased: it wants a memory.
    TopK {
        /// The share of a tensor's elements, above 0 and at most 1.
        share: f64,
        /// Whether the values are sent as bfloat16.
        #[serde(default)]
        half_values: bool,
    },
    /// Deep gradient compression (Lin et al. 2018). Without a memory it is top-k with clipping.
    DeepGradient {
        /// The share of a tensor's elements after the warm-up, above 0 and at most 1.
        share: f64,
        /// The momentum in the memory, from 0 to below 1.
        #[serde(default = "momentum")]
        momentum: f64,
        /// The clipping norm of what `clients` clients send together, above 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clip: Option<f64>,
        /// The clients of a round, at least 1: each clips at `clip / sqrt(clients)`.
        #[serde(default = "one")]
        clients: u32,
        /// Rounds in which more is sent, at most 10,000: 25 % in the first, and the fourth part in each after
        /// it.
        #[serde(default)]
        warmup_rounds: u32,
        /// Whether the values are sent as bfloat16.
        #[serde(default)]
        half_values: bool,
    },
    /// Elements that have grown to a magnitude; smaller ones wait in the memory (Strom 2015, with the values
    /// themselves; eSGD, Tao and Li 2018, keeps the small ones like this). Biased: it wants a memory.
    Threshold {
        /// The magnitude, above 0.
        magnitude: f64,
        /// Whether the values are sent as bfloat16.
        #[serde(default)]
        half_values: bool,
    },
    /// PowerSGD (Vogels et al. 2019), both factors sent. Tensors for which that does not pay travel as
    /// float32. Biased: it wants a memory, which also keeps the factor from which the next round starts.
    LowRank {
        /// Columns of a factor, from 1 to 1024.
        rank: u32,
        /// Power iterations, from 1 to 100. With a memory one is enough.
        #[serde(default = "iterations")]
        iterations: u32,
    },
    /// Sufficient factors (Xie et al. 2014): the outer products of a dense layer's steps as the engine recorded them, or two
    /// thin matrices whose product is within a relative error of the tensor, or float32. Each tensor gets the form of the
    /// fewest bytes by itself (HybComm, Zhang et al. 2017).
    SufficientFactors {
        /// Columns of a factor, at most; from 1 to 1024.
        rank_max: u32,
        /// The largest L2 norm of what the factors leave out, as a share of the tensor's: from 1e-6 to 0.1. With 0 nothing is
        /// left out: recorded products travel as they are.
        #[serde(default = "factor_error")]
        error: f64,
    },
    /// DRIVE (Vargaftik et al. 2021): rotated signs and one scale for each block.
    Drive {
        /// Whether the scale is the unbiased one.
        #[serde(default = "yes")]
        unbiased: bool,
        /// Values of a block: a power of two from 64 to 65,536.
        #[serde(default = "rotation_block")]
        block: u32,
    },
    /// EDEN (Vargaftik et al. 2022): rotated Lloyd-Max values and one scale for each block.
    Eden {
        /// Bits of a value, from 1 to 4.
        bits: u8,
        /// Whether the scale is the unbiased one.
        #[serde(default = "yes")]
        unbiased: bool,
        /// Values of a block: a power of two from 64 to 65,536.
        #[serde(default = "rotation_block")]
        block: u32,
    },
    /// Whole numbers and one scale for each block, to the nearest: for weights on their way down. Biased.
    Weights {
        /// Bits of a value: 4 or 8.
        bits: u8,
        /// Values of a block: a power of two from 2 to 65,536.
        #[serde(default = "weights_block")]
        block: u32,
    },
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn momentum() -> f64 {
    0.9
}

fn iterations() -> u32 {
    2
}

/// Above the rounding of an update a thousandth as large as its float32 weights (3e-5), below that of bfloat16 (1.7e-3).
fn factor_error() -> f64 {
    1e-3
}

fn rotation_block() -> u32 {
    ROTATION_BLOCK
}

fn qsgd_bucket() -> u32 {
    512
}

fn weights_block() -> u32 {
    64
}

impl Codec {
    /// EDEN with 4 bits: an eighth of the bytes, a normalised error of 0.0096 whatever the values, unbiased, and no memory,
    /// which few clients come back to use.
    pub const EDEN_4: Self = Self::Eden { bits: 4, unbiased: true, block: ROTATION_BLOCK };

    /// Lists what is wrong with the numbers; nothing if they may be used.
    pub fn validate(&self) -> Vec<RecipeFault> {
        let mut faults = Faults::default();
        match *self {
            Self::None | Self::Fp16 | Self::Bf16 | Self::OneBit | Self::Sign => {}
            Self::Fixed { bits, block, rotated } => {
                faults.range("fixed.bits", bits.into(), 1..=8);
                faults.block("fixed.block", block, if rotated { ROTATED_BLOCK_MIN } else { 2 });
            }
            Self::Qsgd { levels, bucket } => {
                faults.range("qsgd.levels", levels.into(), 1..=127);
                faults.block("qsgd.bucket", bucket, 2);
            }
            Self::Ternary { clip_deviations } => faults.positive("ternary.clip_deviations", clip_deviations),
            Self::RandomK { share, .. } => faults.share("random_k.share", share),
            Self::TopK { share, .. } => faults.share("top_k.share", share),
            Self::DeepGradient { share, momentum, clip, clients, warmup_rounds, .. } => {
                faults.share("deep_gradient.share", share);
                faults.momentum("deep_gradient.momentum", momentum);
                faults.positive("deep_gradient.clip", clip);
                faults.range("deep_gradient.clients", clients, 1..=u32::MAX);
                faults.range("deep_gradient.warmup_rounds", warmup_rounds, 0..=WARMUP_ROUNDS_MAX);
            }
            Self::Threshold { magnitude, .. } => {
                faults.positive("threshold.magnitude", Some(magnitude));
                faults.normal("threshold.magnitude", magnitude);
            }
            Self::LowRank { rank, iterations } => {
                faults.range("low_rank.rank", rank, 1..=RANK_MAX);
                faults.range("low_rank.iterations", iterations, 1..=ITERATIONS_MAX);
            }
            Self::SufficientFactors { rank_max, error } => {
                faults.range("sufficient_factors.rank_max", rank_max, 1..=RANK_MAX);
                if error != 0.0 && !FACTOR_ERRORS.contains(&error) {
                    faults.add("sufficient_factors.error", error, "0, or from 1e-6 to 0.1");
                }
            }
            Self::Drive { block, .. } => faults.block("drive.block", block, ROTATED_BLOCK_MIN),
            Self::Eden { bits, block, .. } => {
                faults.range("eden.bits", bits.into(), 1..=4);
                faults.block("eden.block", block, ROTATED_BLOCK_MIN);
            }
            Self::Weights { bits, block } => {
                if bits != 4 && bits != 8 {
                    faults.add("weights.bits", bits, "4 or 8");
                }
                faults.block("weights.block", block, 2);
            }
        }
        faults.0
    }

    /// Returns about how many bits a value takes, before symbols are entropy-coded; none where that depends on the values or on
    /// a tensor's shape.
    pub fn nominal_bits(&self) -> Option<f64> {
        // A value of 32 or 16 bits, and a gap coded in about two bits more than its logarithm (Golomb 1966).
        let sparse = |share: f64, half_values: bool| {
            share * (if half_values { 16.0 } else { 32.0 } + log2(1.0 / share) + 2.0)
        };
        match *self {
            Self::None => Some(32.0),
            Self::Fp16 | Self::Bf16 => Some(16.0),
            Self::Fixed { bits, .. } | Self::Eden { bits, .. } | Self::Weights { bits, .. } => {
                Some(bits.into())
            }
            Self::Qsgd { levels, .. } => Some(log2(2.0 * f64::from(levels) + 1.0)),
            Self::Ternary { .. } => Some(log2(3.0)),
            Self::OneBit | Self::Sign | Self::Drive { .. } => Some(1.0),
            Self::RandomK { share, .. } => Some(32.0 * share),
            Self::TopK { share, half_values } | Self::DeepGradient { share, half_values, .. } => {
                Some(sparse(share, half_values))
            }
            Self::Threshold { .. } | Self::LowRank { .. } | Self::SufficientFactors { .. } => None,
        }
    }

    /// Says whether the decoded update is in the mean the update, over the seeds.
    ///
    /// For rotated blocks that holds nearly: see [`Codec::Eden`].
    pub fn is_unbiased(&self) -> bool {
        match self {
            Self::None | Self::Fixed { .. } | Self::Qsgd { .. } => true,
            Self::Ternary { clip_deviations } => clip_deviations.is_none(),
            Self::RandomK { unbiased, .. } | Self::Drive { unbiased, .. } | Self::Eden { unbiased, .. } => {
                *unbiased
            }
            _ => false,
        }
    }

    /// Says whether a memory takes up what was not sent: for biased codecs, and for none that is unbiased, whose error can
    /// be larger than the update. Sufficient factors need none: they keep to their error in every update.
    pub fn uses_memory(&self) -> bool {
        !self.is_unbiased() && !matches!(self, Self::Weights { .. } | Self::SufficientFactors { .. })
    }
}

/// By the one logarithm that a browser's build has anyway.
fn log2(number: f64) -> f64 {
    number.ln() / std::f64::consts::LN_2
}
