use serde::{Deserialize, Serialize};

use super::fault::{Faults, RecipeFault};

/// The default block of a rotation. It fits into the L1 cache of any CPU, and is large enough to rotate well.
pub const ROTATION_BLOCK: u32 = 4096;
/// The minimum block length of a rotation.
const ROTATED_BLOCK_MIN: u32 = 64;
/// The maximum rank of a factor.
const RANK_MAX: u32 = 1024;
/// The allowed relative errors (L2 norm) of sufficient factors, besides 0.
const FACTOR_ERRORS: std::ops::RangeInclusive<f64> = 1e-6..=0.1;
/// The maximum number of warm-up rounds.
const WARMUP_ROUNDS_MAX: u32 = 10_000;
/// The maximum number of power iterations.
const ITERATIONS_MAX: u32 = 100;

/// The encoding of a tensor's values.
///
/// As text: the name, a colon and the first number, then the other settings as `,key=value`: `eden:4`,
/// `qsgd:15,bucket=1024`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Codec {
    /// Float32, unchanged.
    None,
    /// IEEE binary16, rounded to nearest. Magnitudes above 65,504 become 65,504; those below 3e-8 become 0.
    Fp16,
    /// bfloat16, rounded to nearest: relative error at most 2^-8.
    Bf16,
    /// Evenly spaced levels between the smallest and the largest value of a block, rounded stochastically: unbiased.
    Fixed {
        /// Bits per value, from 1 to 8.
        bits: u8,
        /// Values per block: a power of two from 2 (if rotated, 64) to 65,536.
        #[serde(default = "rotation_block")]
        block: u32,
        /// True if blocks are rotated first, which bounds the error of values with a heavy tail.
        #[serde(default)]
        rotated: bool,
    },
    /// QSGD (Alistarh et al. 2017): each value becomes a signed multiple of its bucket's norm divided by `levels`,
    /// rounded stochastically and entropy-coded. Unbiased.
    Qsgd {
        /// Levels above zero, from 1 to 127.
        levels: u8,
        /// Values per bucket: a power of two from 2 to 65,536.
        #[serde(default = "qsgd_bucket")]
        bucket: u32,
    },
    /// TernGrad (Wen et al. 2017): -1, 0 or 1 times the largest magnitude, rounded stochastically. Unbiased unless
    /// values are clipped.
    Ternary {
        /// Clips values at this many standard deviations of their tile, above 0. The paper uses 2.5.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clip_deviations: Option<f64>,
    },
    /// 1-bit SGD (Seide et al. 2014): the signs, and the mean for each sign. Biased, so it needs a memory.
    OneBit,
    /// Scaled sign (Bernstein et al. 2018; Karimireddy et al. 2019): the signs and the mean magnitude. Biased, so it
    /// needs a memory.
    Sign,
    /// A random subset of the elements, chosen by the seed.
    RandomK {
        /// The share of the elements, above 0 and at most 1.
        share: f64,
        /// True if values are scaled up to make the result unbiased.
        #[serde(default = "yes")]
        unbiased: bool,
    },
    /// The largest elements (Aji and Heafield 2017). Biased, so it needs a memory.
    TopK {
        /// The share of a tensor's elements, above 0 and at most 1.
        share: f64,
        /// True if the values are sent as bfloat16.
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
        /// The clipping norm for the sum of the updates of `clients` clients, above 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clip: Option<f64>,
        /// The clients per round, at least 1. Each clips at `clip / sqrt(clients)`.
        #[serde(default = "one")]
        clients: u32,
        /// The number of warm-up rounds, at most 10,000. The first one sends 25 % of the elements, and each further one
        /// sends a quarter of the share before, but never less than `share`.
        #[serde(default)]
        warmup_rounds: u32,
        /// True if the values are sent as bfloat16.
        #[serde(default)]
        half_values: bool,
    },
    /// Elements whose magnitude has reached a threshold. Smaller elements accumulate in the memory, as in eSGD (Tao and
    /// Li 2018). Strom 2015 sends only the signs of the selected elements; this codec sends their values. Biased, so it
    /// needs a memory.
    Threshold {
        /// The magnitude, above 0.
        magnitude: f64,
        /// True if the values are sent as bfloat16.
        #[serde(default)]
        half_values: bool,
    },
    /// PowerSGD (Vogels et al. 2019), with both factors sent. Tensors for which factors would not be shorter travel as
    /// float32. Biased, so it needs a memory, which also stores the factor from which the next round starts.
    LowRank {
        /// Columns of a factor, from 1 to 1024.
        rank: u32,
        /// Power iterations, from 1 to 100. With a memory, one is enough.
        #[serde(default = "iterations")]
        iterations: u32,
    },
    /// Sufficient factors (Xie et al. 2014). A tensor travels as the outer products that the engine recorded for the
    /// steps of a dense layer, as two thin matrices whose product is within a relative error of the tensor, or as
    /// float32. Each tensor gets the shortest form (HybComm, Zhang et al. 2017).
    SufficientFactors {
        /// The maximum number of columns of a factor, from 1 to 1024.
        rank_max: u32,
        /// The largest L2 norm of the part that the factors leave out, as a share of the tensor's norm: from 1e-6 to
        /// 0.1. With 0, nothing is left out, and recorded products travel unchanged.
        #[serde(default = "factor_error")]
        error: f64,
    },
    /// DRIVE (Vargaftik et al. 2021): signs after rotation, and one scale per block.
    Drive {
        /// True to use the unbiased scale.
        #[serde(default = "yes")]
        unbiased: bool,
        /// Values per block: a power of two from 64 to 65,536.
        #[serde(default = "rotation_block")]
        block: u32,
    },
    /// EDEN (Vargaftik et al. 2022): Lloyd-Max values after rotation, and one scale per block.
    Eden {
        /// Bits per value, from 1 to 4.
        bits: u8,
        /// True to use the unbiased scale.
        #[serde(default = "yes")]
        unbiased: bool,
        /// Values per block: a power of two from 64 to 65,536.
        #[serde(default = "rotation_block")]
        block: u32,
    },
    /// Integers and one scale per block, rounded to nearest. For weights sent to clients. Biased.
    Weights {
        /// Bits per value: 4 or 8.
        bits: u8,
        /// Values per block: a power of two from 2 to 65,536.
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

/// The default lies between two relative rounding errors: 3e-5 for a difference of float32 weights that is a thousandth
/// of their size, and 1.7e-3 for bfloat16.
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
    /// EDEN with 4 bits: an eighth of the bytes of float32, with a normalised error of 0.0096 for any values. It is
    /// unbiased and needs no memory; few clients return often enough to use one.
    pub const EDEN_4: Self = Self::Eden { bits: 4, unbiased: true, block: ROTATION_BLOCK };

    /// Lists the invalid numbers; empty if the codec is valid.
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

    /// Returns the approximate bits per value, before entropy coding. `None` if they depend on the values or on the
    /// tensor's shape.
    pub fn nominal_bits(&self) -> Option<f64> {
        // A value has 32 or 16 bits. A coded gap has about two bits more than its logarithm (Golomb 1966).
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

    /// Returns whether the decoded update equals the update on average over the seeds.
    ///
    /// For the rotated blocks of DRIVE and EDEN, this holds only approximately.
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

    /// Returns whether the codec uses a memory, which keeps what was not sent. True for all biased codecs except two:
    /// `Weights` does not encode updates, and the error of `SufficientFactors` is bounded in every update. Unbiased
    /// codecs use none, because their error can be larger than the update.
    pub fn uses_memory(&self) -> bool {
        !self.is_unbiased() && !matches!(self, Self::Weights { .. } | Self::SufficientFactors { .. })
    }
}

/// Uses the natural logarithm, because a browser build contains no other logarithm.
fn log2(number: f64) -> f64 {
    number.ln() / std::f64::consts::LN_2
}
