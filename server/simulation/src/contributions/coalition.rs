/// A set of the clients of a round. A client is named by its place among them, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Coalition {
    words: Vec<u64>,
}

impl Coalition {
    /// Returns the empty set, of a round with `count` clients.
    pub(crate) fn none(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)] }
    }

    /// Returns the set of all `count` clients.
    pub(crate) fn all(count: usize) -> Self {
        (0..count).fold(Self::none(count), |all, place| all.with(place))
    }

    /// Returns all sets of `count` clients, which are 2^`count`. `count` is at most 63.
    pub(crate) fn every(count: usize) -> impl Iterator<Item = Self> {
        (0..1u64 << count).map(move |word| Self { words: vec![word; count.div_ceil(64)] })
    }

    /// Returns the set with a client more.
    pub(crate) fn with(mut self, place: usize) -> Self {
        self.words[place / 64] |= 1 << (place % 64);
        self
    }

    /// Returns the set with a client less.
    pub(crate) fn without(mut self, place: usize) -> Self {
        self.words[place / 64] &= !(1 << (place % 64));
        self
    }

    /// Returns whether the client is in the set.
    pub(crate) fn contains(&self, place: usize) -> bool {
        self.words[place / 64] >> (place % 64) & 1 == 1
    }

    /// Returns the number of clients in the set.
    pub(crate) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the places of its clients, in order.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..64 * self.words.len()).filter(|place| self.contains(*place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_its_clients_beyond_the_first_word() {
        let set = Coalition::none(130).with(0).with(63).with(64).with(129);
        assert_eq!(set.places().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!((set.len(), set.contains(64), set.contains(65)), (4, true, false));
        assert_eq!(set.without(64).places().collect::<Vec<_>>(), [0, 63, 129]);
        assert_eq!((Coalition::all(70).len(), Coalition::all(0).len()), (70, 0));
    }

    #[test]
    fn every_set_is_there_once() {
        let sets: std::collections::BTreeSet<Coalition> = Coalition::every(5).collect();
        assert_eq!((sets.len(), Coalition::every(0).count()), (32, 1));
        assert!(sets.contains(&Coalition::all(5)) && sets.contains(&Coalition::none(5)));
    }
}
