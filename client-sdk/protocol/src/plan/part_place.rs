/// The place of a tensor in a version with several parts: clusters or widths. Updates have values for some of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartPlace {
    /// The shares of the clients with each part.
    Shares,
    /// A tensor of which every update has values.
    Common,
    /// A tensor of this part, counted from 0.
    Of(usize),
}

impl PartPlace {
    /// Returns the place of a tensor, given the name of the shares, and the text before the number in the names of
    /// parts.
    pub(super) fn named(name: &str, shares: &str, part: &str) -> Self {
        if name == shares {
            return Self::Shares;
        }
        let number = name.strip_prefix(part).and_then(|rest| rest.split_once('/'));
        let number = number.and_then(|(number, _)| number.parse::<usize>().ok());
        number.and_then(|number| number.checked_sub(1)).map_or(Self::Common, Self::Of)
    }
}
