use folkmoot_component::Component;

/// The settings and limits that a task gives a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The settings, in a form that the component defines.
    pub settings: String,
    /// The largest number of instructions of a commit.
    pub fuel_max: u64,
    /// The largest memory, in MiB.
    pub memory_mib_max: u32,
}

impl From<&Component> for Terms {
    fn from(choice: &Component) -> Self {
        Self {
            settings: choice.settings.clone(),
            fuel_max: choice.fuel_max,
            memory_mib_max: choice.memory_mib_max,
        }
    }
}
