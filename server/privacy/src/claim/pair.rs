//! The accountant for each pair of a mechanism and a kind of sampling.

use super::accountant::{ACCOUNTANT_VERSION, Accountant};
use super::mechanism::{Blt, Gaussian, LocalGaussian, Mechanism, Tree};
use super::participation::{
    Capped, EnforcedDraw, EnforcedParticipation, FixedSize, PoissonSampled, Separated,
};
use super::spent::{Spent, Unamplified, smallest};
use super::{ClaimError, Cost, epsilon_by_loss_distribution};
use crate::accountant::{Orders, ParticipationPattern, RdpCurve, rho_of_gaussian, rho_of_tree};
use crate::budget::{Delta, Rho, Unit};
use crate::noise_multiplier::Relation;

const CENTRAL: &str = "the coordinator adds the noise and keeps the sums without noise secret";
const CLIPPED: &str = "every update is clipped to one norm over all tensors and has weight 1";
const FIXED_DIVISOR: &str = "sums are divided by the report goal, not by the number of reports";
const LOCAL: &str = "every client adds its own noise and trusts nobody else";
const CAPPED: &str =
    "selection caps the releases that a client can be in; the claim does not depend on how it draws";
const SEPARATED: &str = "selection keeps a client's rounds apart by the minimum separation; the claim does not depend on how it draws";
const COINS: &str = "for each release every member of a fixed population is drawn by an independent secret coin; no draw is repeated, \
     no cohort is capped, and its size is not disclosed";
const WITHOUT_REPLACEMENT: &str =
    "cohorts are drawn secretly and uniformly without replacement from a fixed population";
const ABSENT_IS_ZERO: &str = "a drawn client that does not answer counts as an update of zero";

/// The inputs of an accountant other than the mechanism and the sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The number of releases.
    pub releases: u64,
    /// The delta at which epsilon must hold.
    pub delta: Delta,
    /// The privacy unit that each client of the selection represents.
    pub unit: Unit,
}

/// A mechanism whose privacy is known under a kind of sampling.
///
/// ```compile_fail
/// use folkmoot_privacy::claim::{Accounts, PoissonSampled, Tree};
/// fn no_amplified_trees(tree: Tree) -> impl Accounts<PoissonSampled> {
///     tree
/// }
/// ```
pub trait Accounts<Sampling> {
    /// Computes the privacy that the releases spend.
    ///
    /// # Errors
    /// [`ClaimError`] if the numbers do not fit together or give no bound.
    fn account(&self, sampling: &Sampling, question: Question) -> Result<Spent, ClaimError>;
}

/// Builds a claim that does not depend on how clients are drawn.
fn unamplified(
    relation: Relation,
    question: Question,
    participations: u64,
    rho: Rho,
    assumptions: Vec<&'static str>,
) -> Result<Spent, ClaimError> {
    let without_amplification = Unamplified::of_rho(rho, question.delta)?;
    Ok(Spent {
        unit: question.unit,
        relation,
        releases: question.releases,
        participations,
        rho: Some(rho),
        epsilon: without_amplification.epsilon,
        delta: question.delta,
        accountant: Accountant::Zcdp,
        accountant_version: ACCOUNTANT_VERSION,
        assumptions,
        without_amplification,
    })
}

impl Accounts<Capped> for Gaussian {
    /// ρ = k/(2z²).
    fn account(&self, sampling: &Capped, question: Question) -> Result<Spent, ClaimError> {
        let participations = sampling.participations(question.releases);
        let rho = rho_of_gaussian(self.noise_multiplier, participations);
        let assumptions = vec![CENTRAL, CLIPPED, FIXED_DIVISOR, CAPPED];
        unamplified(self.noise_multiplier.relation(), question, participations, rho, assumptions)
    }
}

impl Accounts<Separated> for Gaussian {
    /// ρ = k/(2z²), where the separation bounds k.
    fn account(&self, sampling: &Separated, question: Question) -> Result<Spent, ClaimError> {
        let participations = sampling.pattern().participations_within(question.releases);
        let rho = rho_of_gaussian(self.noise_multiplier, participations);
        let assumptions = vec![CENTRAL, CLIPPED, FIXED_DIVISOR, SEPARATED];
        unamplified(self.noise_multiplier.relation(), question, participations, rho, assumptions)
    }
}

impl Accounts<PoissonSampled> for Gaussian {
    /// Returns the smallest of three sound bounds: the Rényi bound, the composed privacy loss distribution, and the
    /// bound without amplification.
    fn account(&self, sampling: &PoissonSampled, question: Question) -> Result<Spent, ClaimError> {
        let Question { releases, delta, unit } = question;
        let multiplier = self.noise_multiplier;
        let by_pld = epsilon_by_loss_distribution(sampling.rate(), multiplier, releases, delta);
        let by_rdp = RdpCurve::of_poisson_gaussian(sampling.rate(), multiplier, Orders::default())
            .ok()
            .and_then(|curve| Cost::Curve(curve.times(releases)).epsilon(delta).ok());
        let participations = sampling.participations(releases);
        let without_amplification = Unamplified::of_gaussian(multiplier, participations, delta)?;
        let unsampled = (Some(without_amplification.epsilon), Accountant::Zcdp);
        let (epsilon, accountant) =
            smallest([(by_pld, Accountant::Pld), (by_rdp, Accountant::Rdp), unsampled])?;
        Ok(Spent {
            unit,
            relation: multiplier.relation(),
            releases,
            participations,
            rho: None,
            epsilon,
            delta,
            accountant,
            accountant_version: ACCOUNTANT_VERSION,
            assumptions: vec![CENTRAL, CLIPPED, FIXED_DIVISOR, COINS, ABSENT_IS_ZERO],
            without_amplification,
        })
    }
}

impl Accounts<FixedSize> for Gaussian {
    /// Returns the Rényi bound under replace-one, the only relation for which it is proven, or the bound without
    /// amplification if that is smaller. Relative to replace-one, the same noise has half the multiplier.
    fn account(&self, sampling: &FixedSize, question: Question) -> Result<Spent, ClaimError> {
        let Question { releases, delta, unit } = question;
        let multiplier = self.noise_multiplier.under(Relation::ReplaceOne);
        let (population, cohort) = sampling.sizes();
        let curve = RdpCurve::of_fixed_size_gaussian(population, cohort, multiplier, Orders::default())?;
        let by_rdp = Cost::Curve(curve.times(releases)).epsilon(delta).ok();
        let participations = sampling.participations(releases);
        let without_amplification = Unamplified::of_gaussian(multiplier, participations, delta)?;
        let unsampled = (Some(without_amplification.epsilon), Accountant::Zcdp);
        let (epsilon, accountant) = smallest([(by_rdp, Accountant::Rdp), unsampled])?;
        Ok(Spent {
            unit,
            relation: Relation::ReplaceOne,
            releases,
            participations,
            rho: None,
            epsilon,
            delta,
            accountant,
            accountant_version: ACCOUNTANT_VERSION,
            assumptions: vec![CENTRAL, CLIPPED, FIXED_DIVISOR, WITHOUT_REPLACEMENT, ABSENT_IS_ZERO],
            without_amplification,
        })
    }
}

impl Accounts<Separated> for Tree {
    fn account(&self, sampling: &Separated, question: Question) -> Result<Spent, ClaimError> {
        let pattern = sampling.pattern();
        let leaves = self.leaves_per_tree.max(1);
        let rho = rho_of_tree(self.noise_multiplier, question.releases, leaves, pattern);
        let participations = pattern.participations_within(question.releases);
        let assumptions = vec![CENTRAL, CLIPPED, FIXED_DIVISOR, SEPARATED];
        unamplified(self.noise_multiplier.relation(), question, participations, rho, assumptions)
    }
}

impl Accounts<Capped> for Tree {
    /// Without an enforced separation, the separation is one round.
    fn account(&self, sampling: &Capped, question: Question) -> Result<Spent, ClaimError> {
        let participations = sampling.participations(question.releases);
        let pattern = ParticipationPattern::new(participations.max(1), 1).expect("both are above 0");
        let leaves = self.leaves_per_tree.max(1);
        let rho = rho_of_tree(self.noise_multiplier, question.releases, leaves, pattern);
        let assumptions = vec![CENTRAL, CLIPPED, FIXED_DIVISOR, CAPPED];
        unamplified(self.noise_multiplier.relation(), question, participations, rho, assumptions)
    }
}

impl Accounts<Separated> for Blt {
    /// ρ = 1/(2z²) for all planned rounds together. The noise was sized for the planned pattern, so a pattern that
    /// exceeds the plan is an error.
    fn account(&self, sampling: &Separated, question: Question) -> Result<Spent, ClaimError> {
        let (pattern, planned) = (sampling.pattern(), self.planned);
        let participations = pattern.participations_within(question.releases);
        let is_planned = question.releases <= planned.rounds
            && participations <= planned.participations_max
            && (pattern.separation() >= planned.separation || participations <= 1);
        if !is_planned {
            let (claim, remedy) = (
                "the sensitivity of the factorisation",
                "plan the factorisation for at least these rounds and participations, and at most this separation",
            );
            return Err(ClaimError::NotEnforced { claim, remedy });
        }
        let rho = rho_of_gaussian(self.noise_multiplier, u64::from(question.releases > 0));
        let assumptions = vec![CENTRAL, CLIPPED, FIXED_DIVISOR, SEPARATED];
        unamplified(self.noise_multiplier.relation(), question, participations, rho, assumptions)
    }
}

impl Accounts<Capped> for LocalGaussian {
    /// ρ = k/(2z²). The bound holds even if the coordinator is the attacker.
    fn account(&self, sampling: &Capped, question: Question) -> Result<Spent, ClaimError> {
        let participations = sampling.participations(question.releases);
        let rho = rho_of_gaussian(self.noise_multiplier, participations);
        let assumptions = vec![LOCAL, CLIPPED, CAPPED];
        unamplified(self.noise_multiplier.relation(), question, participations, rho, assumptions)
    }
}

impl Accounts<Separated> for LocalGaussian {
    /// ρ = k/(2z²) as with a cap; here the separation bounds k.
    fn account(&self, sampling: &Separated, question: Question) -> Result<Spent, ClaimError> {
        let participations = sampling.pattern().participations_within(question.releases);
        let rho = rho_of_gaussian(self.noise_multiplier, participations);
        let assumptions = vec![LOCAL, CLIPPED, SEPARATED];
        unamplified(self.noise_multiplier.relation(), question, participations, rho, assumptions)
    }
}

/// Any kind of sampling. Each kind can only be constructed from [`EnforcedParticipation`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// A cap on participations.
    Capped(Capped),
    /// A cap on participations and a minimum separation.
    Separated(Separated),
    /// Independent coins: Poisson sampling.
    Poisson(PoissonSampled),
    /// Cohorts of fixed size, drawn without replacement.
    FixedSize(FixedSize),
}

impl Sampling {
    /// Returns the strongest claim that the enforced selection supports: amplification by the draw, a separation, or a
    /// cap.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if nothing bounds how often a client takes part.
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        match enforced.draw {
            EnforcedDraw::IndependentCoins { .. } => {
                PoissonSampled::from_enforced(enforced).map(Self::Poisson)
            }
            EnforcedDraw::WithoutReplacement { .. } => {
                FixedSize::from_enforced(enforced).map(Self::FixedSize)
            }
            EnforcedDraw::FromWaiting if enforced.separation_rounds.is_some() => {
                Separated::from_enforced(enforced).map(Self::Separated)
            }
            EnforcedDraw::FromWaiting => Capped::from_enforced(enforced).map(Self::Capped),
        }
    }

    /// Returns the sampling's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Capped(_) => "a cap on participations",
            Self::Separated(_) => "a minimum separation",
            Self::Poisson(_) => "Poisson sampling",
            Self::FixedSize(_) => "a cohort of fixed size",
        }
    }
}

/// Computes the privacy that the releases of a mechanism spend under the participation that selection enforces.
///
/// # Errors
/// [`ClaimError::Pair`] for a pair without a proof; any other [`ClaimError`] that the accountants return.
///
/// ```
/// use std::num::NonZeroU64;
/// use folkmoot_privacy::{Delta, NoiseMultiplier, Relation, Unit, claim::*};
///
/// let enforced = EnforcedParticipation {
///     participations_max: NonZeroU64::new(10),
///     separation_rounds: None,
///     draw: EnforcedDraw::FromWaiting,
/// };
/// let noise_multiplier = NoiseMultiplier::new(5.0, Relation::ZeroOut)?;
/// let mechanism = Mechanism::Gaussian(Gaussian { noise_multiplier });
/// let question = Question { releases: 1000, delta: Delta::new(1e-6)?, unit: Unit::Client };
/// let spent = account(&mechanism, &Sampling::from_enforced(&enforced)?, question)?;
/// assert_eq!(spent.rho.map(|rho| rho.get()), Some(0.2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn account(mechanism: &Mechanism, sampling: &Sampling, question: Question) -> Result<Spent, ClaimError> {
    match (mechanism, sampling) {
        (Mechanism::Gaussian(gaussian), Sampling::Capped(capped)) => gaussian.account(capped, question),
        (Mechanism::Gaussian(gaussian), Sampling::Separated(separated)) => {
            gaussian.account(separated, question)
        }
        (Mechanism::Gaussian(gaussian), Sampling::Poisson(poisson)) => gaussian.account(poisson, question),
        (Mechanism::Gaussian(gaussian), Sampling::FixedSize(fixed)) => gaussian.account(fixed, question),
        (Mechanism::Tree(tree), Sampling::Capped(capped)) => tree.account(capped, question),
        (Mechanism::Tree(tree), Sampling::Separated(separated)) => tree.account(separated, question),
        (Mechanism::Blt(blt), Sampling::Separated(separated)) => blt.account(separated, question),
        (Mechanism::LocalGaussian(local), Sampling::Capped(capped)) => local.account(capped, question),
        (Mechanism::LocalGaussian(local), Sampling::Separated(separated)) => {
            local.account(separated, question)
        }
        (Mechanism::Tree(_) | Mechanism::Blt(_) | Mechanism::LocalGaussian(_), _) => Err(ClaimError::Pair {
            mechanism: mechanism.name(),
            sampling: sampling.name(),
            remedy: "draw from the waiting clients and enforce a separation, or use independent Gaussian noise",
        }),
    }
}
