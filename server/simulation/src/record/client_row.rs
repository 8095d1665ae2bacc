use serde::{Deserialize, Serialize};

use super::{Cell, Column, ColumnKind, Row};

/// How an assignment ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssignmentEnd {
    /// Its update was accepted.
    #[default]
    Reported,
    /// Its update came when it was not wanted any more.
    Late,
    /// Its update was refused.
    Refused,
    /// The device said that it gave up.
    Aborted,
    /// Nothing was heard of it again.
    Vanished,
}

/// One assignment of a simulated task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// The round's number.
    pub round_number: u64,
    /// The client's number.
    pub client: u64,
    /// How it ended.
    pub end: AssignmentEnd,
    /// Virtual seconds from the beginning of the simulation to the assignment.
    pub virtual_seconds: f64,
    /// Seconds for the download of the model.
    pub download_seconds: f64,
    /// Seconds for the training.
    pub training_seconds: f64,
    /// Seconds for the upload of the update.
    pub upload_seconds: f64,
    /// Bytes to the client.
    pub bytes_down: u64,
    /// Bytes from the client.
    pub bytes_up: u64,
    /// The version that it trained from.
    pub base_version: u64,
    /// How many versions its update was behind.
    pub staleness: Option<u64>,
    /// Examples, counted once for every epoch.
    pub example_count: u64,
    /// The mean loss over them.
    pub train_loss: Option<f64>,
    /// Whether the client attacked, as 1 or 0.
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
