//! A bad network between clients and a coordinator. It is slow, adds latency, and resets every connection after a few
//! hundred kilobytes. It forwards encrypted bytes and does not decrypt them.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
};

/// The range of the number of bytes that a connection carries before it is reset.
const LIFETIME_BYTES: std::ops::Range<u64> = 300_000..900_000;
/// The maximum number of bytes that are forwarded at once. A random delay before each piece limits a connection to
/// about 10 MB/s.
const PIECE_BYTES: usize = 16 * 1024;
const DELAY: std::ops::Range<u64> = 0..3;
/// On average, one in this number of connections is refused, and another one stalls after its first bytes.
const ONE_OF: u32 = 12;
/// The time for which a stalled connection hangs before it is reset.
const SILENCE: Duration = Duration::from_secs(2);

/// A local port that forwards to another port over the bad network.
pub struct BadNetwork {
    /// The local port to which clients connect.
    pub port: u16,
    counts: Arc<Counts>,
}

/// Counters of a bad network.
#[derive(Default)]
struct Counts {
    up: AtomicU64,
    down: AtomicU64,
    resets: AtomicU64,
}

/// The faults that are planned for a connection.
struct Fate {
    lifetime: u64,
    is_refused: bool,
    is_silent: bool,
}

impl BadNetwork {
    /// Opens a port that forwards to the port `target` on this machine. It closes with the test's runtime.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn open(target: u16, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let chance = Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed)));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, Arc::clone(&shared), Arc::clone(&chance)));
            }
        });
        Self { port, counts }
    }

    /// Returns the number of bytes received from clients.
    pub fn up(&self) -> u64 {
        self.counts.up.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes received from the coordinator.
    pub fn down(&self) -> u64 {
        self.counts.down.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that were reset.
    pub fn resets(&self) -> u64 {
        self.counts.resets.load(Ordering::Relaxed)
    }
}

async fn carry(client: TcpStream, target: u16, counts: Arc<Counts>, chance: Arc<Mutex<ChaCha8Rng>>) {
    let fate = {
        let mut chance = chance.lock().unwrap_or_else(PoisonError::into_inner);
        Fate {
            lifetime: chance.random_range(LIFETIME_BYTES),
            is_refused: chance.random_range(0..ONE_OF) == 0,
            is_silent: chance.random_range(0..ONE_OF) == 0,
        }
    };
    // With zero linger, closing the socket sends a reset instead of a regular end.
    if client.set_zero_linger().is_err() || fate.is_refused {
        counts.resets.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
    if server.set_zero_linger().is_err() {
        return;
    }
    let lifetime = if fate.is_silent { fate.lifetime / 10 } else { fate.lifetime };
    let carried = AtomicU64::new(0);
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let is_over = tokio::select! {
        ended = pipe(&mut from_client, &mut to_server, &carried, lifetime, &counts.up, &chance) => ended,
        ended = pipe(&mut from_server, &mut to_client, &carried, lifetime, &counts.down, &chance) => ended,
    };
    if matches!(is_over, Ok(true)) {
        counts.resets.fetch_add(1, Ordering::Relaxed);
        if fate.is_silent {
            tokio::time::sleep(SILENCE).await;
        }
    }
    // Drop both halves of each connection together: dropping a single half would send a regular end.
    drop((from_client.reunite(to_client), from_server.reunite(to_server)));
}

/// Forwards bytes until the connection ends or has carried the bytes of its lifetime. Returns `true` in the second
/// case.
async fn pipe(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    carried: &AtomicU64,
    lifetime: u64,
    count: &AtomicU64,
    chance: &Mutex<ChaCha8Rng>,
) -> io::Result<bool> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            to.shutdown().await?;
            return Ok(false);
        }
        count.fetch_add(length as u64, Ordering::Relaxed);
        let delay = chance.lock().unwrap_or_else(PoisonError::into_inner).random_range(DELAY);
        tokio::time::sleep(Duration::from_millis(delay)).await;
        to.write_all(&piece[..length]).await?;
        if carried.fetch_add(length as u64, Ordering::Relaxed) + length as u64 >= lifetime {
            return Ok(true);
        }
    }
}
