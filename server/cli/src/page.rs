use folkmoot_api::Page;

use super::{connection::ConnectionArgs, output::OutputArgs, task_called::TaskCalled};

/// The flags that select a page of a numbered list.
#[derive(clap::Args)]
pub struct NumberedPageArgs {
    /// The number of items to list, at most 100.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: u32,
    /// List only items with a smaller number than this.
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
}

impl NumberedPageArgs {
    /// Returns the selected page.
    pub fn page(&self) -> Page<u64> {
        Page { limit: self.limit, before: self.before }
    }
}

/// The arguments of a command that lists a page of a task's items.
#[derive(clap::Args)]
pub struct TaskPageArgs {
    /// The task: its name, its id or the beginning of its id. `folkmoot task list` shows both.
    pub task: TaskCalled,
    #[command(flatten)]
    pub page: NumberedPageArgs,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
