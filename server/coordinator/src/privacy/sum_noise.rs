use folkmoot_privacy::accountant::ParticipationPattern;
use serde::{Deserialize, Serialize};

/// How the noise of one version goes with that of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SumNoise {
    /// Every version has noise of its own.
    #[default]
    #[serde(deserialize_with = "crate::selection::no_fields")]
    Independent,
    /// DP-FTRL with tree aggregation: the noise of versions cancels along a binary tree over them, so that the model after
    /// t versions has the noise of about log2(t), without anything claimed of how clients are drawn (Kairouz et al. 2021,
    /// "Practical and private (deep) learning without sampling or shuffling").
    Tree {
        /// Two versions with a client's updates in them are at least so many apart, at least 1; selection keeps to it.
        #[serde(default = "one")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [20])))]
        separation: u64,
    },
    /// DP-FTRL with buffered linear Toeplitz noise, which takes off again in later versions what earlier ones got: less
    /// noise than a tree, and 16 bytes a parameter from one version to the next (McMahan, Xu and Zhang 2024, "A hassle-free algorithm for private
    /// learning in practice: don't use tree aggregation, use BLTs").
    Blt {
        /// Two versions with a client's updates in them are at least so many apart, at least 1; selection keeps to it.
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
    /// What correlates it.
    pub shape: StreamShape,
    /// The versions for which it is planned.
    pub releases_max: u64,
    /// In which of them a client may be.
    pub pattern: ParticipationPattern,
}

/// What correlates a stream of noise.
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

    /// Returns by how many versions two of a client's are apart, where that is claimed.
    pub fn separation(&self) -> Option<u64> {
        match *self {
            Self::Independent => None,
            Self::Tree { separation } | Self::Blt { separation } => Some(separation),
        }
    }

    /// Returns the stream of a task that was found to be right.
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
