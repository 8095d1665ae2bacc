use serde::{Deserialize, Serialize};

use super::{CommitteeTerms, SecureTerms};

/// The parties that can see an update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// The coordinator can see the update. It is encrypted in transit.
    #[default]
    Plain,
    /// The coordinator can see only the sum of the cohort's updates, whose masks the clients remove together. A build without
    /// the feature `secure-aggregation` does not understand such a plan and refuses it.
    #[cfg(feature = "secure-aggregation")]
    SecureAggregation(SecureTerms),
    /// The coordinator can see only the sum of the cohort's updates, whose masks a committee removes.
    #[cfg(feature = "secure-aggregation")]
    Committee(CommitteeTerms),
}

impl Protection {
    /// Returns the terms of a sum of masked updates; `None` if the coordinator sees single updates.
    pub fn secure(&self) -> Option<&SecureTerms> {
        match self {
            Protection::Plain => None,
            #[cfg(feature = "secure-aggregation")]
            Protection::SecureAggregation(terms) => Some(terms),
            #[cfg(feature = "secure-aggregation")]
            Protection::Committee(terms) => Some(&terms.sum),
        }
    }

    /// Returns the terms for the messages with which clients remove the masks; `None` if clients exchange no such
    /// messages.
    pub fn exchange(&self) -> Option<&SecureTerms> {
        match self {
            #[cfg(feature = "secure-aggregation")]
            Protection::SecureAggregation(terms) => Some(terms),
            _ => None,
        }
    }

    /// Returns the terms of the committee that removes the masks; `None` without one.
    pub fn committee(&self) -> Option<&CommitteeTerms> {
        match self {
            #[cfg(feature = "secure-aggregation")]
            Protection::Committee(terms) => Some(terms),
            _ => None,
        }
    }
}
