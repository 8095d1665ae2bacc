use std::collections::BTreeMap;

/// The size of a module.
#[derive(Debug)]
pub struct Size {
    pub name: &'static str,
    pub bytes: u64,
    /// The number of bytes after gzip, as a server sends the module.
    pub compressed: u64,
    pub bytes_max: u64,
    /// The number of bytes of code for each crate, before wasm-opt.
    pub by_crate: BTreeMap<String, u64>,
}

impl Size {
    pub fn is_too_large(&self) -> bool {
        self.compressed > self.bytes_max
    }

    /// Formats the sizes as one line.
    pub fn line(&self) -> String {
        let Self { name, bytes, compressed, bytes_max, .. } = self;
        format!("{name}: {bytes} bytes, {compressed} after gzip (at most {bytes_max})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_limit_is_too_large() {
        let size =
            |compressed| Size { name: "cpu", bytes: 9, compressed, bytes_max: 5, by_crate: BTreeMap::new() };
        assert!(size(6).is_too_large() && !size(5).is_too_large());
        assert_eq!(size(6).line(), "cpu: 9 bytes, 6 after gzip (at most 5)");
    }
}
