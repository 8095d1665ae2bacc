use std::sync::Arc;

use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::warn_of;

/// What is lent at a time.
const UNIT: usize = 1024;

/// Memory for bodies that are under way, all of them together. Where there is none left, a request is refused at once and
/// told to come back: a coordinator that waits for memory holds what it has for as long.
pub struct Budget {
    name: &'static str,
    units: Arc<Semaphore>,
}

/// Memory of a [`Budget`], given back when it is dropped.
pub struct Lent {
    unit_count: usize,
    permit: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// Has `bytes` to lend.
    pub fn new(name: &'static str, bytes: usize) -> Self {
        Self { name, units: Arc::new(Semaphore::new(bytes / UNIT)) }
    }

    /// Begins with nothing.
    pub fn nothing(&self) -> Lent {
        Lent { unit_count: 0, permit: None }
    }

    /// Lends until `lent` covers `bytes`.
    ///
    /// # Errors
    /// [`ErrorCode::Overloaded`] if there is not enough left.
    pub fn cover(&self, lent: &mut Lent, bytes: usize) -> Result<(), Refusal> {
        let more = bytes.div_ceil(UNIT).saturating_sub(lent.unit_count);
        if more == 0 {
            return Ok(());
        }
        let short = || {
            warn_of(self.name, "the memory for requests that are under way is used up");
            Refusal::new(ErrorCode::Overloaded, "too many requests are under way").retry_after(2_000)
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
        assert_eq!(refusal.code(), ErrorCode::Overloaded);
        drop(one);
        budget.cover(&mut other, 4 * UNIT).unwrap();
    }
}
