use folkmoot_engine::Examples;
use folkmoot_protocol::DataSchema;

/// Provides a client's examples as numbers, for each plan.
pub trait ExampleSource: Send + Sync {
    /// Returns the number of examples, which the client reports when it checks in.
    fn example_count(&self) -> u64;

    /// Returns the examples, encoded by the plan's schema if the plan has one. The client asks when a plan arrives,
    /// before it fetches the model, and again before it trains.
    ///
    /// # Errors
    /// The reason why the examples do not fit the schema. The client declines the assignment. It writes the reason to
    /// the local log, and never sends it, because it may contain the user's data.
    fn examples(&self, schema: Option<&DataSchema>) -> Result<Examples, String>;
}

/// Examples that are numbers already. A schema does not change them.
impl ExampleSource for Examples {
    fn example_count(&self) -> u64 {
        self.len() as u64
    }

    fn examples(&self, _: Option<&DataSchema>) -> Result<Examples, String> {
        Ok(self.clone())
    }
}
