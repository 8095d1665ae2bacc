use std::sync::Arc;

use folkmoot_protocol::{ErrorCode, Problem};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::warn_of;

/// The unit of accounting, in bytes.
const UNIT: usize = 1024;

/// A memory budget shared by all request bodies in progress. If it is used up, a request is refused at once and told
/// to retry. Waiting would keep the request's other memory occupied.
pub struct Budget {
    name: &'static str,
    units: Arc<Semaphore>,
}

/// Memory reserved from a [`Budget`]. It is returned on drop.
pub struct Lent {
    unit_count: usize,
    permit: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// Creates a budget of `bytes` bytes.
    pub fn new(name: &'static str, bytes: usize) -> Self {
        Self { name, units: Arc::new(Semaphore::new(bytes / UNIT)) }
    }

    /// Returns an empty reservation.
    pub fn nothing(&self) -> Lent {
        Lent { unit_count: 0, permit: None }
    }

    /// Extends `lent` until it covers `bytes`.
    ///
    /// # Errors
    /// [`ErrorCode::Overloaded`] if the budget has too little memory left.
    pub fn cover(&self, lent: &mut Lent, bytes: usize) -> Result<(), Box<Problem>> {
        let more = bytes.div_ceil(UNIT).saturating_sub(lent.unit_count);
        if more == 0 {
            return Ok(());
        }
        let short = || {
            warn_of(self.name, "the memory for requests in progress is used up");
            let problem =
                Problem::new(ErrorCode::Overloaded, "too many requests are in progress; retry later");
            Box::new(Problem { retry_after_milliseconds: Some(2_000), ..problem })
        };
        let count = u32::try_from(more).map_err(|_| short())?;
        let permit = self.units.clone().try_acquire_many_owned(count).map_err(|_| short())?;
        lent.unit_count += more;
        match &mut lent.permit {
            Some(held) => held.merge(permit),
            held @ None => *held = Some(permit),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_is_counted_and_given_back() {
        let budget = Budget::new("test", 4 * UNIT);
        let (mut one, mut other) = (budget.nothing(), budget.nothing());
        budget.cover(&mut one, 1).unwrap();
        budget.cover(&mut one, UNIT).unwrap();
        budget.cover(&mut one, UNIT + 1).unwrap();
        budget.cover(&mut other, 2 * UNIT).unwrap();
        let refusal = budget.cover(&mut other, 2 * UNIT + 1).unwrap_err();
        assert_eq!(refusal.code.known(), Some(ErrorCode::Overloaded));
        drop(one);
        budget.cover(&mut other, 4 * UNIT).unwrap();
    }
}
