/// The version of the accountants, which is the version of this package.
pub const ACCOUNTANT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The accountant that computed an epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accountant {
    /// Zero-concentrated differential privacy (zCDP), with its tight conversion to epsilon.
    Zcdp,
    /// Rényi differential privacy (RDP) over a grid of orders.
    Rdp,
}

impl Accountant {
    /// Returns the accountant's usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zcdp => "zCDP",
            Self::Rdp => "RDP",
        }
    }
}
