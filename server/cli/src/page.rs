use folkmoot_api::Page;

/// Which part of a list of numbered things.
#[derive(clap::Args)]
pub struct NumberedPageArgs {
    /// How many, at most 100.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: u32,
    /// Those below this number.
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
}

impl NumberedPageArgs {
    /// Returns the page that is asked for.
    pub fn page(&self) -> Page<u64> {
        Page { limit: self.limit, before: self.before }
    }
}
