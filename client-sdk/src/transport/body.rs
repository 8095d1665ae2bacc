use std::{fmt, io, path::PathBuf, sync::Arc};

use bytes::{Bytes, BytesMut};
use folkmoot_work::Way;
use futures::{
    TryStreamExt,
    stream::{self, BoxStream},
};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt},
};

use crate::traffic::Traffic;

/// The number of bytes that are read from a file and sent at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// Called after each piece with the number of bytes of the update that were passed to the connection so far.
type OnSent = Arc<dyn Fn(u64) + Send + Sync>;

/// The remaining bytes of an update, in order. An error breaks the connection off.
pub type Pieces = BoxStream<'static, io::Result<Bytes>>;

/// The source of an update's bytes.
#[derive(Clone)]
pub enum UpdateSource {
    /// From memory.
    Bytes(Bytes),
    /// From a file, read piece by piece.
    File {
        /// The file.
        path: PathBuf,
        /// Called after each piece with the number of bytes of the update that were passed to the connection so far.
        on_sent: OnSent,
    },
    /// From code that produces the bytes from an offset on, as slowly as it likes.
    Pieces(Arc<dyn Fn(u64) -> Pieces + Send + Sync>),
}

impl UpdateSource {
    /// Creates the body of an upload, starting at `offset`.
    pub(super) async fn body(
        &self,
        offset: u64,
        length: u64,
        traffic: &Arc<Traffic>,
    ) -> io::Result<reqwest::Body> {
        match self {
            Self::Bytes(bytes) => {
                let is_whole = bytes.len() as u64 == length;
                let start = usize::try_from(offset).ok().filter(|&start| is_whole && start <= bytes.len());
                let start = start.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
                traffic.count(Way::Up, length - offset);
                Ok(bytes.slice(start..).into())
            }
            Self::File { path, on_sent } => {
                let mut file = File::open(path).await?;
                file.seek(io::SeekFrom::Start(offset)).await?;
                Ok(stream_of(file, offset, length, Arc::clone(on_sent), Arc::clone(traffic)))
            }
            Self::Pieces(pieces) => {
                let traffic = Arc::clone(traffic);
                let counted = pieces(offset).inspect_ok(move |piece| {
                    traffic.count(Way::Up, piece.len() as u64);
                });
                Ok(reqwest::Body::wrap_stream(counted))
            }
        }
    }
}

fn stream_of(file: File, offset: u64, length: u64, on_sent: OnSent, traffic: Arc<Traffic>) -> reqwest::Body {
    let piece_bytes = traffic.piece_bytes(PIECE_BYTES) as u64;
    let pieces = stream::try_unfold((file, offset), move |(mut file, sent)| {
        let (on_sent, traffic) = (Arc::clone(&on_sent), Arc::clone(&traffic));
        async move {
            let wanted = length.saturating_sub(sent).min(piece_bytes) as usize;
            if wanted == 0 {
                traffic.save();
                return Ok::<_, io::Error>(None);
            }
            let mut piece = BytesMut::zeroed(wanted);
            file.read_exact(&mut piece).await?;
            let sent = sent + wanted as u64;
            traffic.pass(Way::Up, wanted as u64).await;
            on_sent(sent);
            Ok(Some((piece.freeze(), (file, sent))))
        }
    });
    reqwest::Body::wrap_stream(pieces)
}

impl fmt::Debug for UpdateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "UpdateSource({} bytes)", bytes.len()),
            Self::File { path, .. } => write!(f, "UpdateSource({})", path.display()),
            Self::Pieces(_) => f.write_str("UpdateSource(pieces)"),
        }
    }
}
