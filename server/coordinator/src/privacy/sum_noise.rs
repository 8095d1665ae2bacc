use folkmoot_privacy::accountant::ParticipationPattern;
use serde::{Deserialize, Serialize};

/// The correlation of the noise between versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SumNoise {
    /// Independent noise for every version.
    #[default]
    #[serde(deserialize_with = "crate::selection::no_fields")]
    Independent,
    /// DP-FTRL with tree aggregation. Noise cancels along a binary tree over the versions, so the model after t
    /// versions contains the noise of only about log2(t) versions. It needs no assumption about how clients are drawn
    /// (Kairouz et al. 2021, "Practical and private (deep) learning without sampling or shuffling").
    Tree {
        /// The smallest distance between two versions with updates of the same client: at least 1. Selection
        /// enforces it.
        #[serde(default = "one")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [20])))]
        separation: u64,
    },
    /// DP-FTRL with buffered linear Toeplitz noise. Later versions subtract noise that earlier ones received. It
    /// adds less noise than a tree, and keeps 16 bytes per parameter between versions (McMahan, Xu and Zhang
    /// 2024, "A hassle-free algorithm for private learning in practice: don't use tree aggregation, use BLTs").
    Blt {
        /// The smallest distance between two versions with updates of the same client: at least 1. Selection
        /// enforces it.
        #[serde(default = "one")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [20])))]
        separation: u64,
    },
}

fn one() -> u64 {
    1
}

/// A stream of correlated noise over all versions of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The correlation structure.
    pub shape: StreamShape,
    /// The number of versions that the stream is planned for.
    pub releases_max: u64,
    /// The pattern of versions in which one client may take part.
    pub pattern: ParticipationPattern,
}

/// The correlation structure of a stream of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamShape {
    /// A binary tree over the versions.
    Tree,
    /// A buffered linear Toeplitz matrix.
    Blt,
}

impl SumNoise {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the smallest distance between two versions with updates of the same client. Returns `None` for
    /// independent noise, which needs no distance.
    pub fn separation(&self) -> Option<u64> {
        match *self {
            Self::Independent => None,
            Self::Tree { separation } | Self::Blt { separation } => Some(separation),
        }
    }

    /// Returns the stream of a valid task; `None` for independent noise.
    pub(super) fn stream(&self, participations_max: u64, releases_max: Option<u64>) -> Option<Stream> {
        let shape = match self {
            Self::Independent => return None,
            Self::Tree { .. } => StreamShape::Tree,
            Self::Blt { .. } => StreamShape::Blt,
        };
        let pattern = ParticipationPattern::new(participations_max, self.separation()?).ok()?;
        Some(Stream { shape, releases_max: releases_max?, pattern })
    }
}
