//! A load balancer that forwards encrypted bytes: each connection goes to a coordinator that chance chooses.

use std::sync::{Arc, Mutex, PoisonError};

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

/// A local port in front of several others.
pub struct Balancer {
    /// The port to which clients connect.
    pub port: u16,
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
        let chance = Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed)));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut order = targets.clone();
                order.shuffle(&mut *chance.lock().unwrap_or_else(PoisonError::into_inner));
                tokio::spawn(forward(client, order));
            }
        });
        Self { port }
    }
}

async fn forward(mut client: TcpStream, targets: Vec<u16>) {
    for target in targets {
        if let Ok(mut server) = TcpStream::connect(("127.0.0.1", target)).await {
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            // A killed coordinator ends the connection.
            let _ = copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}
