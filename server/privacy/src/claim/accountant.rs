use serde::Serialize;

/// The version of the accountants: that of this package.
pub const ACCOUNTANT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Which accountant answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Accountant {
    /// Zero-concentrated differential privacy, converted tightly.
    Zcdp,
    /// Rényi differential privacy over a grid of orders.
    Rdp,
    /// The privacy loss distribution, composed on a grid.
    Pld,
}

impl Accountant {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zcdp => "zCDP",
            Self::Rdp => "RDP",
            Self::Pld => "PLD",
        }
    }
}
