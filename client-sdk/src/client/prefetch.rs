use folkmoot_protocol::BlobDigest;
use futures::future::{FutureExt, RemoteHandle};

/// A running prefetch of weights that were offered to a waiting client, if any. Dropping it cancels the fetch.
#[derive(Default)]
pub(super) struct Prefetch(Option<(BlobDigest, RemoteHandle<()>)>);

impl Prefetch {
    /// Starts to fetch this blob. Another running fetch is cancelled; a fetch of the same blob continues.
    pub fn begin(&mut self, digest: BlobDigest, fetching: impl Future<Output = ()> + Send + 'static) {
        if self.0.as_ref().is_some_and(|(current, _)| *current == digest) {
            return;
        }
        let (task, handle) = fetching.remote_handle();
        tokio::spawn(task);
        self.0 = Some((digest, handle));
    }

    /// Forgets a completed fetch, so that the same blob can be fetched again.
    pub fn forget_ended(&mut self) {
        self.0.take_if(|(_, handle)| handle.now_or_never().is_some());
    }

    /// Cancels the fetch unless it is for this blob.
    pub fn end_unless(&mut self, wanted: Option<BlobDigest>) {
        self.0.take_if(|(digest, _)| Some(*digest) != wanted);
    }

    /// Returns the running fetch of this blob, if any, so that the caller can wait for it.
    pub fn take(&mut self, wanted: BlobDigest) -> Option<RemoteHandle<()>> {
        self.0.take_if(|(digest, _)| *digest == wanted).map(|(_, handle)| handle)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc};

    use tokio::task::yield_now;

    use super::*;

    /// A future that never completes. It keeps its copy of the returned `Arc` as long as it lives.
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
        let handle = prefetch.take(digest("a")).expect("it is in progress");
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
