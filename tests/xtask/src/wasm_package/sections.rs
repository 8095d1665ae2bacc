//! Attributes the code of a WebAssembly module to crates, by the names of its functions.

use std::collections::BTreeMap;

const CUSTOM: u8 = 0;
const IMPORTS: u8 = 2;
const CODE: u8 = 10;
/// The id of the subsection with function names, in the `name` section.
const FUNCTION_NAMES: u8 = 1;

/// Sums the bytes of functions by crate. The first crate in a function's name owns the function.
pub fn bytes_by_crate(functions: &[(String, u64)]) -> BTreeMap<String, u64> {
    let mut by_crate = BTreeMap::new();
    for (name, bytes) in functions {
        *by_crate.entry(crate_of(name)).or_default() += bytes;
    }
    by_crate
}

/// Returns the name and the size in bytes of each function of a module. The list is empty if the module cannot be
/// parsed.
pub fn functions(module: &[u8]) -> Vec<(String, u64)> {
    let mut found = Found::default();
    let mut reader = Reader(module.get(8..).unwrap_or_default());
    while let Some((id, section)) = reader.section() {
        let _ = found.take(id, section);
    }
    let Found { imported, functions, mut names } = found;
    (imported..)
        .zip(functions)
        .map(|(index, bytes)| (names.remove(&index).unwrap_or_default(), bytes))
        .collect()
}

#[derive(Default)]
struct Found {
    imported: u64,
    functions: Vec<u64>,
    names: BTreeMap<u64, String>,
}

impl Found {
    fn take(&mut self, id: u8, section: &[u8]) -> Option<()> {
        let mut reader = Reader(section);
        match id {
            IMPORTS => self.imported = imported_functions(&mut reader)?,
            CODE => {
                for _ in 0..reader.number()? {
                    let length = reader.number()?;
                    reader.bytes(length)?;
                    self.functions.push(length);
                }
            }
            CUSTOM if reader.text()? == "name" => {
                while let Some((kind, names)) = reader.section() {
                    let mut names = Reader(names);
                    if kind != FUNCTION_NAMES {
                        continue;
                    }
                    for _ in 0..names.number()? {
                        let index = names.number()?;
                        self.names.insert(index, names.text()?);
                    }
                }
            }
            _ => {}
        }
        Some(())
    }
}

fn imported_functions(reader: &mut Reader<'_>) -> Option<u64> {
    let mut functions = 0;
    for _ in 0..reader.number()? {
        reader.text()?;
        reader.text()?;
        match reader.byte()? {
            0 => {
                reader.number()?;
                functions += 1;
            }
            kind @ (1 | 2) => {
                if kind == 1 {
                    reader.byte()?;
                }
                let has_maximum = reader.byte()? & 1 == 1;
                reader.number()?;
                if has_maximum {
                    reader.number()?;
                }
            }
            _ => {
                reader.bytes(2)?;
            }
        }
    }
    Some(functions)
}

/// Returns the first crate in a name such as `<&mut serde_json[0f]::de::Deserializer>::next`. For a method, this is the
/// crate of the type.
fn crate_of(name: &str) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut rest = name;
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if after.starts_with('[') || after.starts_with("::") {
            return word.to_owned();
        }
        rest = after;
    }
    "(other)".to_owned()
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads a number in LEB128.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()?;
        self.bytes(length).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn section(&mut self) -> Option<(u8, &'a [u8])> {
        let id = self.byte()?;
        let length = self.number()?;
        Some((id, self.bytes(length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_first_crate_of_its_name() {
        assert_eq!(crate_of("<folkmoot_engine[5f]::gpu::Gpu>::read"), "folkmoot_engine");
        assert_eq!(crate_of("<&mut serde_json[1]::de::D<core[2]::X> as serde[3]::D>::d"), "serde_json");
        assert_eq!(crate_of("core::fmt::write"), "core");
        assert_eq!(crate_of("memcpy"), "(other)");
    }

    #[test]
    fn code_is_counted_by_names() {
        let section = |id: u8, body: &[u8]| [&[id, body.len() as u8], body].concat();
        let import = section(IMPORTS, &[1, 1, b'a', 1, b'b', 0, 0]);
        let code = section(CODE, &[2, 3, 0, 1, 11, 2, 0, 11]);
        let mut names = vec![4];
        names.extend(b"name");
        // The module's own name comes first.
        names.extend(section(0, b"\x01m"));
        names.extend(section(FUNCTION_NAMES, b"\x02\x01\x04x::f\x02\x01m"));
        let module = [&b"\0asm\x01\0\0\0"[..], &import, &code, &section(CUSTOM, &names)].concat();
        let expected = BTreeMap::from([("x".to_owned(), 3), ("(other)".to_owned(), 2)]);
        assert_eq!(functions(&module), [("x::f".to_owned(), 3), ("m".to_owned(), 2)]);
        assert_eq!(bytes_by_crate(&functions(&module)), expected);
        for length in 0..module.len() {
            // A truncated module must not cause a panic.
            functions(&module[..length]);
        }
    }
}
