//! Privacy accountants: the cost of each mechanism.
//!
//! | module | provides |
//! |---|---|
//! | `rdp` | Rényi curves: Gaussian and Poisson-sampled; they compose across kinds of rounds |
//! | `pld` | the tight epsilon of many rounds of one kind with Poisson sampling |
//! | `distributed` | Skellam and discrete Gaussian noise that clients add before secure aggregation |
//! | `zcdp`, `gaussian` | without sampling: ρ, its tight conversion to epsilon, and the exact epsilon |
//! | `tree`, `toeplitz`, `blt` | correlated noise: sensitivity under a participation pattern, and the error |
//! | `adaptive_clipping` | the split of the budget between the updates and the count that adapts the clipping norm |

mod adaptive_clipping;
pub(crate) mod binomial;
mod blt;
mod blt_table;
mod distributed;
mod gaussian;
mod order;
mod pld;
mod poisson;
mod rdp;
pub(crate) mod special;
mod toeplitz;
mod tree;
mod zcdp;

pub use adaptive_clipping::{ClippingRule, SplitError, share_of_unclipped, update_multiplier};
pub use blt::{BUFFERS_MAX, BufferedToeplitz};
pub use distributed::{DistributedNoise, DistributedSum};
pub(crate) use gaussian::gaussian_epsilon_of_mu;
pub use gaussian::{analytic_gaussian_multiplier, gaussian_epsilon};
pub use order::Orders;
pub use pld::poisson_gaussian_epsilon;
pub use rdp::{CurveError, RdpCurve};
pub use toeplitz::{PrefixError, Toeplitz};
pub use tree::{
    ParticipationPattern, best_tree, rho_of_tree, tree_depth, tree_prefix_variance, tree_sensitivity_squared,
};
pub use zcdp::{rho_for_epsilon, rho_of_gaussian, zcdp_delta, zcdp_epsilon};
