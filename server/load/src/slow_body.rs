//! Bodies of uploads that are slow or break off.

use std::{io, time::Duration};

use bytes::Bytes;
use folkmoot_client::Pieces;
use futures::stream;

/// The pauses of a slow body per second.
const PAUSES_PER_SECOND: u64 = 10;

/// The way in which a device sends a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// The speed in bytes per second; `None` for as fast as the connection is.
    pub bytes_per_second: Option<u64>,
    /// The position at which the connection breaks off; `None` for never.
    pub breaks_at: Option<u64>,
}

impl Manner {
    /// Returns the pieces of `bytes` from `offset` on.
    pub fn pieces(self, bytes: Bytes, offset: u64) -> Pieces {
        let length = bytes.len() as u64;
        let piece = self.bytes_per_second.map_or(length.max(1), |speed| (speed / PAUSES_PER_SECOND).max(1));
        let end = self.breaks_at.unwrap_or(length).min(length);
        let pause = self.bytes_per_second.map(|_| Duration::from_millis(1_000 / PAUSES_PER_SECOND));
        let breaks = self.breaks_at.is_some();
        Box::pin(stream::try_unfold(offset, move |sent| {
            let bytes = bytes.clone();
            async move {
                if sent >= end {
                    let broken = || io::Error::other("the load test broke the connection off");
                    return if breaks { Err(broken()) } else { Ok(None) };
                }
                if let Some(pause) = pause {
                    tokio::time::sleep(pause).await;
                }
                let next = (sent + piece).min(end);
                // Both fit: they are at most the length of the bytes.
                Ok(Some((bytes.slice(sent as usize..next as usize), next)))
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    async fn sent(manner: Manner, offset: u64) -> (Vec<Bytes>, bool) {
        let mut pieces = manner.pieces(Bytes::from_static(b"0123456789"), offset);
        let mut sent = Vec::new();
        loop {
            match pieces.try_next().await {
                Ok(Some(piece)) => sent.push(piece),
                Ok(None) => return (sent, false),
                Err(_) => return (sent, true),
            }
        }
    }

    #[tokio::test]
    async fn a_body_is_sent_whole_or_until_it_breaks_off() {
        assert_eq!(sent(Manner::default(), 0).await, (vec!["0123456789".into()], false));
        assert_eq!(sent(Manner::default(), 7).await, (vec!["789".into()], false));
        let broken = Manner { breaks_at: Some(4), ..Manner::default() };
        assert_eq!(sent(broken, 0).await, (vec!["0123".into()], true));
        assert_eq!(sent(broken, 4).await, (vec![], true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_pauses_before_every_piece() {
        let begun = tokio::time::Instant::now();
        let slow = Manner { bytes_per_second: Some(40), breaks_at: None };
        assert_eq!(sent(slow, 0).await, (vec!["0123".into(), "4567".into(), "89".into()], false));
        // The clock is paused: it advances by exactly the time that the body slept.
        assert_eq!(begun.elapsed(), Duration::from_millis(300));
    }
}
