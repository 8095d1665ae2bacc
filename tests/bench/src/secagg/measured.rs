use serde::Serialize;

use super::{
    committee::{ClientRow, MemberRow},
    flower::FlowerRow,
    rows::Row,
};

/// The output of the benchmark.
#[derive(Serialize)]
pub struct Measured {
    /// The number of threads.
    pub threads: usize,
    /// Bytes of key stream per CPU second, of the cipher alone.
    pub cipher_bytes_per_second: f64,
    /// Rounds in which clients mask with each other.
    pub rows: Vec<Row>,
    /// The same rounds by Flower.
    pub flower: Vec<FlowerRow>,
    /// The reason why Flower was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Clients that mask for a committee.
    pub committee_clients: Vec<ClientRow>,
    /// Members of a committee.
    pub committee_members: Vec<MemberRow>,
    /// The duration of the benchmark.
    pub seconds: f64,
}
