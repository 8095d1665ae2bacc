use ed25519_dalek::SigningKey;
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{
    ClientId, OrganisationId, PROTOCOL_VERSION, PopulationName, Timestamp, UpdateDigest,
    signing::{self, SignedParts},
};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{clock, coordinator::Coordinator, device::Claimed};
use folkmoot_storage::{ClientRepository, PopulationRepository, SqlStorage, TokenRecord, TokenRepository};

use crate::Failure;

/// The number of devices that send in turn, large enough that none exceeds its rate limit.
const DEVICES: u64 = 200;
/// The interval between two requests, in milliseconds.
const STEP: u64 = 1;
const START: u64 = 1_700_000_000_000;
const PATH: &str = "/v1/check-in?wait_seconds=60";

/// Enrolled devices.
pub struct Devices {
    /// The database with the devices.
    pub storage: SqlStorage,
    devices: Vec<(ClientId, SigningKey)>,
}

/// A request that a device has signed.
pub struct Signed {
    client: ClientId,
    at: Timestamp,
    nonce: String,
    content: UpdateDigest,
    signature: String,
}

impl Devices {
    /// Enrols the devices in a new database.
    pub async fn enrol(storage: SqlStorage) -> Result<Self, Failure> {
        let (at, population) = (Timestamp(START), "bench".parse::<PopulationName>()?);
        let organisation = OrganisationId::from_random_bytes([1; 16]);
        let organisation = storage.ensure_organisation("default", organisation, at).await?;
        storage.ensure_population(organisation, &population, at).await?;
        let token = TokenRecord::unlimited("token", organisation, population, at);
        storage.create_token(&token).await?;
        let mut devices = Vec::new();
        for number in 1..=DEVICES as u8 {
            let (id, key) =
                (ClientId::from_random_bytes([number; 16]), SigningKey::from_bytes(&[number; 32]));
            storage.enrol("token", &signing::encode_public_key(&key), id, at).await?;
            devices.push((id, key));
        }
        Ok(Self { storage, devices })
    }

    /// Creates a coordinator with the devices' database.
    pub fn coordinator(&self) -> Coordinator {
        let (blobs, log) = (BlobStore::in_memory(), RoundLog::in_memory());
        Coordinator::new(self.storage.clone(), blobs, log, clock::system_chance())
    }

    /// Signs the requests of a block, each with a new nonce.
    pub fn signed(&self, block: u64, count: u64) -> Vec<Signed> {
        let sign = |(number, at): (u64, Timestamp)| {
            let (client, key) = &self.devices[(number % DEVICES) as usize];
            let (nonce, content) = (format!("{number:032x}"), UpdateDigest::of(b"{}"));
            let signature = signing::sign(key, &parts(*client, at, &nonce, content));
            Signed { client: *client, at, nonce, content, signature }
        };
        numbered(block, count).map(sign).collect()
    }
}

impl Signed {
    /// Returns the claims of the request, before verification.
    pub fn claimed(&self) -> Claimed<'_> {
        let parts = parts(self.client, self.at, &self.nonce, self.content);
        Claimed { parts, signature: &self.signature }
    }

    /// Returns the time at which the request arrives.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

fn numbered(block: u64, count: u64) -> impl Iterator<Item = (u64, Timestamp)> {
    (block * count..(block + 1) * count).map(|number| (number, Timestamp(START + number * STEP)))
}

fn parts(client: ClientId, at: Timestamp, nonce: &str, content: UpdateDigest) -> SignedParts<'_> {
    SignedParts {
        method: "POST",
        path: PATH,
        client: Some(client),
        protocol: PROTOCOL_VERSION,
        timestamp: at,
        nonce,
        content,
        upload: None,
        audience: Some("localhost"),
    }
}
