//! The methods that compare gradients at several weights.

use folkmoot_protocol::LocalOptimizer;

use super::curvature::Curvature;
use super::newton::Newton;
use super::probe::Probe;

/// A method with the weights around which it compares gradients.
pub(crate) struct SecondOrder {
    pub(crate) probe: Probe,
    pub(crate) method: Method,
}

/// The use of the comparison.
pub(crate) enum Method {
    /// A step solves for Newton's direction.
    Newton(Newton),
    /// Some steps estimate the curvature of each weight.
    Sophia(Curvature),
}

impl SecondOrder {
    /// Returns the method of an optimizer for a model with `weights` weights, of which `trained` are trained. `None` if
    /// the optimizer compares no gradients.
    pub(crate) fn of(optimizer: LocalOptimizer, weights: usize, trained: usize) -> Option<Self> {
        let newton = Newton::of(optimizer, trained).map(Method::Newton);
        let method = newton.or_else(|| Curvature::of(optimizer, trained).map(Method::Sophia))?;
        Some(Self { probe: Probe::new(weights), method })
    }

    /// Returns whether a step, counted from 0, compares gradients.
    pub(crate) fn is_due(&self, step: u64) -> bool {
        match self.method {
            Method::Newton(_) => true,
            Method::Sophia(curvature) => curvature.is_due(step),
        }
    }

    /// Returns the memory of a comparison besides its program, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let vectors = match &self.method {
            Method::Newton(newton) => newton.memory_bytes(),
            Method::Sophia(curvature) => curvature.memory_bytes(),
        };
        self.probe.memory_bytes() + vectors
    }
}
