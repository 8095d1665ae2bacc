use folkmoot_protocol::BlobDigest;
use futures::future::{FutureExt, RemoteHandle};

/// The fetch of weights that were offered to a client that waits, if one is under way. Dropped, it ends.
#[derive(Default)]
pub(super) struct Prefetch(Option<(BlobDigest, RemoteHandle<()>)>);

impl Prefetch {
    /// Begins to fetch this blob instead of the one before, unless it is the same.
    pub fn begin(&mut self, digest: BlobDigest, fetching: impl Future<Output = ()> + Send + 'static) {
        if self.0.as_ref().is_some_and(|(current, _)| *current == digest) {
            return;
        }
        let (task, handle) = fetching.remote_handle();
        tokio::spawn(task);
        self.0 = Some((digest, handle));
    }

    /// Forgets a fetch that has ended, so that the same blob can be begun again.
    pub fn forget_ended(&mut self) {
        self.0.take_if(|(_, handle)| handle.now_or_never().is_some());
    }

    /// Ends the fetch, unless it is that of this blob.
    pub fn end_unless(&mut self, wanted: Option<BlobDigest>) {
        self.0.take_if(|(digest, _)| Some(*digest) != wanted);
    }

    /// Hands over the fetch of this blob, to be waited for, if it is under way.
    pub fn take(&mut self, wanted: BlobDigest) -> Option<RemoteHandle<()>> {
        self.0.take_if(|(digest, _)| *digest == wanted).map(|(_, handle)| handle)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc};

    use tokio::task::yield_now;

    use super::*;

    /// A fetch that never ends by itself; it is there as long as it has its copy of what is returned.
    fn endless() -> (Arc<()>, impl Future<Output = ()> + Send + 'static) {
        let here = Arc::new(());
        let copy = Arc::clone(&here);
        (here, async move {
            let _kept = copy;
            pending().await
        })
    }

    async fn is_there(fetch: &Arc<()>) -> bool {
        for _ in 0..10 {
            yield_now().await;
        }
        Arc::strong_count(fetch) > 1
    }

    fn digest(name: &str) -> BlobDigest {
        BlobDigest::of(name.as_bytes())
    }

    #[tokio::test]
    async fn a_newer_offer_replaces_the_one_before_and_the_same_does_not() {
        let mut prefetch = Prefetch::default();
        let [(first, fetch_first), (same, fetch_same), (newer, fetch_newer)] = [(); 3].map(|()| endless());
        prefetch.begin(digest("a"), fetch_first);
        prefetch.begin(digest("a"), fetch_same);
        assert!(is_there(&first).await && !is_there(&same).await);
        prefetch.begin(digest("b"), fetch_newer);
        assert!(!is_there(&first).await && is_there(&newer).await);
        drop(prefetch);
        assert!(!is_there(&newer).await);
    }

    #[tokio::test]
    async fn it_goes_on_only_for_who_wants_this_blob() {
        let mut prefetch = Prefetch::default();
        let (fetch, fetching) = endless();
        prefetch.begin(digest("a"), fetching);
        prefetch.end_unless(Some(digest("a")));
        prefetch.forget_ended();
        assert!(prefetch.take(digest("b")).is_none() && is_there(&fetch).await);
        let handle = prefetch.take(digest("a")).expect("it is under way");
        assert!(is_there(&fetch).await && prefetch.take(digest("a")).is_none());
        drop(handle);
        assert!(!is_there(&fetch).await);

        let (fetch, fetching) = endless();
        prefetch.begin(digest("a"), fetching);
        prefetch.end_unless(Some(digest("b")));
        assert!(!is_there(&fetch).await);
    }

    #[tokio::test]
    async fn what_has_ended_can_be_begun_again() {
        let mut prefetch = Prefetch::default();
        prefetch.begin(digest("a"), async {});
        for _ in 0..10 {
            yield_now().await;
        }
        prefetch.forget_ended();
        let (fetch, fetching) = endless();
        prefetch.begin(digest("a"), fetching);
        assert!(is_there(&fetch).await);
    }
}
