use serde::{Deserialize, Serialize};

use super::{Cell, Column, ColumnKind, Row};

/// The way in which an assignment ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssignmentEnd {
    /// The update was accepted.
    #[default]
    Reported,
    /// The update came too late.
    Late,
    /// The update was rejected.
    Refused,
    /// The device reported that it gave up.
    Aborted,
    /// The device vanished without a message.
    Vanished,
}

/// One assignment of a simulated task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// The round's number.
    pub round_number: u64,
    /// The client's number.
    pub client: u64,
    /// The way in which the assignment ended.
    pub end: AssignmentEnd,
    /// The number of virtual seconds from the beginning of the simulation to the assignment.
    pub virtual_seconds: f64,
    /// The number of seconds that the download of the model took.
    pub download_seconds: f64,
    /// The number of seconds that training took.
    pub training_seconds: f64,
    /// The number of seconds that the upload of the update took.
    pub upload_seconds: f64,
    /// The number of bytes sent to the client.
    pub bytes_down: u64,
    /// The number of bytes sent from the client.
    pub bytes_up: u64,
    /// The model version from which training started.
    pub base_version: u64,
    /// The number of versions by which the update's base version was behind; `None` if no update was accepted.
    pub staleness: Option<u64>,
    /// The number of examples trained on, each counted once for every epoch.
    pub example_count: u64,
    /// The mean training loss over these examples; `None` if the client reported none.
    pub train_loss: Option<f64>,
    /// 1 if the client attacked, otherwise 0.
    pub hostile: u64,
}

impl AssignmentEnd {
    /// Returns the end's name in a file.
    pub fn name(self) -> &'static str {
        match self {
            AssignmentEnd::Reported => "reported",
            AssignmentEnd::Late => "late",
            AssignmentEnd::Refused => "refused",
            AssignmentEnd::Aborted => "aborted",
            AssignmentEnd::Vanished => "vanished",
        }
    }
}

impl Row for ClientRow {
    const COLUMNS: &'static [Column] = &[
        Column::always("round_number", ColumnKind::Count),
        Column::always("client", ColumnKind::Count),
        Column::always("end", ColumnKind::Text),
        Column::always("virtual_seconds", ColumnKind::Number),
        Column::always("download_seconds", ColumnKind::Number),
        Column::always("training_seconds", ColumnKind::Number),
        Column::always("upload_seconds", ColumnKind::Number),
        Column::always("bytes_down", ColumnKind::Count),
        Column::always("bytes_up", ColumnKind::Count),
        Column::always("base_version", ColumnKind::Count),
        Column::sometimes("staleness", ColumnKind::Count),
        Column::always("example_count", ColumnKind::Count),
        Column::sometimes("train_loss", ColumnKind::Number),
        Column::always("hostile", ColumnKind::Count),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            self.round_number.into(),
            self.client.into(),
            self.end.name().into(),
            self.virtual_seconds.into(),
            self.download_seconds.into(),
            self.training_seconds.into(),
            self.upload_seconds.into(),
            self.bytes_down.into(),
            self.bytes_up.into(),
            self.base_version.into(),
            self.staleness.into(),
            self.example_count.into(),
            self.train_loss.into(),
            self.hostile.into(),
        ]
    }
}
