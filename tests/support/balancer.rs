//! A load balancer that forwards encrypted bytes: each connection goes to the coordinator that has the fewest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// A local port in front of several others.
pub struct Balancer {
    /// The port to which clients connect.
    pub port: u16,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    targets: Vec<Target>,
    /// Chooses between targets with equally many connections.
    chance: ChaCha8Rng,
}

struct Target {
    port: u16,
    is_out: bool,
    /// The number of open connections.
    open: watch::Sender<usize>,
    /// The number of resets so far.
    resets: watch::Sender<u64>,
}

impl Balancer {
    /// Opens a port that forwards each connection to one of the ports `targets` on which somebody listens. It closes
    /// with the test's runtime.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn open(targets: Vec<u16>, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let target =
            |port| Target { port, is_out: false, open: watch::Sender::new(0), resets: watch::Sender::new(0) };
        let targets = targets.into_iter().map(target).collect();
        let shared = Arc::new(Mutex::new(Shared { targets, chance: ChaCha8Rng::seed_from_u64(seed) }));
        let own = shared.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, shared.clone()));
            }
        });
        Self { port, shared: own }
    }

    /// Sends no new connections to target `number`, or ends that. Open connections stay.
    pub fn take_out(&self, number: usize, is_out: bool) {
        lock(&self.shared).targets[number].is_out = is_out;
    }

    /// Returns the number of open connections to target `number`.
    pub fn open_to(&self, number: usize) -> usize {
        *lock(&self.shared).targets[number].open.borrow()
    }

    /// Resets all connections to target `number`.
    pub fn reset(&self, number: usize) {
        lock(&self.shared).targets[number].resets.send_modify(|count| *count += 1);
    }

    /// Resets all connections to target `number` as soon as there is one.
    pub async fn reset_open(&self, number: usize) {
        let mut open = lock(&self.shared).targets[number].open.subscribe();
        open.wait_for(|open| *open > 0).await.expect("the target is there");
        self.reset(number);
    }
}

/// An open connection to a target, counted until it is dropped.
struct Open {
    shared: Arc<Mutex<Shared>>,
    number: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.shared).targets[self.number].open.send_modify(|open| *open -= 1);
    }
}

async fn forward(mut client: TcpStream, shared: Arc<Mutex<Shared>>) {
    let mut tried = Vec::new();
    while let Some((open, port, mut resets)) = choose(&shared, &tried) {
        tried.push(open.number);
        if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let is_reset = tokio::select! {
                // A killed coordinator ends the connection.
                _ = copy_bidirectional(&mut client, &mut server) => false,
                reset = resets.changed() => reset.is_ok(),
            };
            if is_reset {
                // With zero linger, closing the socket sends a reset instead of a regular end.
                let _ = (client.set_zero_linger(), server.set_zero_linger());
            }
            return;
        }
    }
}

/// Chooses the target with the fewest connections, except those that were tried, and counts the new connection.
fn choose(shared: &Arc<Mutex<Shared>>, tried: &[usize]) -> Option<(Open, u16, watch::Receiver<u64>)> {
    let mut all = lock(shared);
    let Shared { targets, chance } = &mut *all;
    let mut order: Vec<usize> = (0..targets.len()).filter(|one| !tried.contains(one)).collect();
    order.retain(|&one| !targets[one].is_out);
    order.shuffle(chance);
    let number = order.into_iter().min_by_key(|&one| *targets[one].open.borrow())?;
    let target = &mut targets[number];
    target.open.send_modify(|open| *open += 1);
    Some((Open { shared: shared.clone(), number }, target.port, target.resets.subscribe()))
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
