//! Decides which offered weights a waiting client fetches before it needs them.

use folkmoot_protocol::{BlobDigest, Timestamp, messages::Artifact};

use crate::{Budget, DayBytes};

/// Returns whether to fetch an offered blob. A prefetch must leave room in the day's traffic, and the client would decline
/// a model above its limit anyway.
pub fn may_prefetch(artifact: Artifact, budget: &Budget, day: &DayBytes, now: Timestamp) -> bool {
    artifact.bytes <= budget.model_bytes_max && day.has_room_for(artifact.bytes, now)
}

/// A running prefetch, if there is one, with the host's handle of it. The host cancels a fetch whose handle is dropped.
#[derive(Debug)]
pub struct Prefetch<Handle>(Option<(BlobDigest, Handle)>);

impl<Handle> Default for Prefetch<Handle> {
    fn default() -> Self {
        Self(None)
    }
}

impl<Handle> Prefetch<Handle> {
    /// Starts to fetch this blob. Another running fetch is cancelled; a fetch of the same blob continues.
    pub fn begin(&mut self, digest: BlobDigest, start: impl FnOnce() -> Handle) {
        if self.0.as_ref().is_none_or(|(current, _)| *current != digest) {
            self.0 = Some((digest, start()));
        }
    }

    /// Forgets a completed fetch, so that the same blob can be fetched again.
    pub fn forget_ended(&mut self, has_ended: impl FnOnce(&mut Handle) -> bool) {
        self.0.take_if(|(_, handle)| has_ended(handle));
    }

    /// Cancels the fetch unless it is for this blob.
    pub fn end_unless(&mut self, wanted: Option<BlobDigest>) {
        self.0.take_if(|(digest, _)| Some(*digest) != wanted);
    }

    /// Returns the running fetch of this blob, if any, so that the caller can wait for it.
    pub fn take(&mut self, wanted: BlobDigest) -> Option<Handle> {
        self.0.take_if(|(digest, _)| *digest == wanted).map(|(_, handle)| handle)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::TrafficLimits;

    fn digest(name: &str) -> BlobDigest {
        BlobDigest::of(name.as_bytes())
    }

    fn is_there(fetch: &Rc<()>) -> bool {
        Rc::strong_count(fetch) > 1
    }

    #[test]
    fn a_newer_offer_replaces_the_one_before_and_the_same_does_not() {
        let mut prefetch = Prefetch::default();
        let [first, same, newer] = [(); 3].map(Rc::new);
        prefetch.begin(digest("a"), || Rc::clone(&first));
        prefetch.begin(digest("a"), || Rc::clone(&same));
        assert!(is_there(&first) && !is_there(&same));
        prefetch.begin(digest("b"), || Rc::clone(&newer));
        assert!(!is_there(&first) && is_there(&newer));
    }

    #[test]
    fn it_goes_on_only_for_who_wants_this_blob() {
        let mut prefetch = Prefetch::default();
        let fetch = Rc::new(());
        prefetch.begin(digest("a"), || Rc::clone(&fetch));
        prefetch.end_unless(Some(digest("a")));
        prefetch.forget_ended(|_| false);
        assert!(prefetch.take(digest("b")).is_none() && is_there(&fetch));
        let handle = prefetch.take(digest("a")).expect("it is in progress");
        assert!(is_there(&fetch) && prefetch.take(digest("a")).is_none());
        drop(handle);
        assert!(!is_there(&fetch));
        prefetch.begin(digest("a"), || Rc::clone(&fetch));
        prefetch.end_unless(Some(digest("b")));
        assert!(!is_there(&fetch));
    }

    #[test]
    fn what_has_ended_can_be_begun_again() {
        let mut prefetch = Prefetch::default();
        let [ended, again] = [(); 2].map(Rc::new);
        prefetch.begin(digest("a"), || Rc::clone(&ended));
        prefetch.forget_ended(|_| true);
        prefetch.begin(digest("a"), || Rc::clone(&again));
        assert!(is_there(&again) && !is_there(&ended));
    }

    #[test]
    fn what_the_budget_or_the_day_has_no_room_for_is_not_fetched() {
        let now = Timestamp(5);
        let limits = TrafficLimits { bytes_per_day: Some(100), bytes_per_second: None };
        let day = DayBytes::load(&limits, b"");
        let budget = Budget { model_bytes_max: 50, ..Budget::default() };
        let may =
            |bytes, budget: &Budget| may_prefetch(Artifact { digest: digest("a"), bytes }, budget, &day, now);
        assert!(may(50, &budget) && !may(51, &budget));
        assert!(may(100, &Budget::default()) && !may(101, &Budget::default()));
    }
}
