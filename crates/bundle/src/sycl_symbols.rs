//! The names of kernels beside a SYCL image: the string `symbols` of an offload
//! binary, by which the runtime finds the image that has a kernel.

/// The key of the string in an offload binary.
pub const KEY: &str = "symbols";

/// The names as clang-sycl-linker 22.1.8 writes them: text, one name a line, no
/// line end behind the last.
pub fn text<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let names: Vec<&str> = names.into_iter().collect();
    names.join("\n").into_bytes()
}

/// The names in [`text`], in its order; what is no UTF-8 is replaced.
pub fn in_text(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text)
        .split('\n')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The names as the `libsycl` of LLVM 24 reads them (`SymbolTableHeader` in
/// LLVM's header `Frontend/Offloading/Utility.h`, autumn of 2026): their number;
/// for each the offset in the table and the length in bytes, without its NUL;
/// then the names, each ended by a NUL. Numbers are little endian, in 32 bits.
/// `None` if the table is too large for such numbers.
pub fn table<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Vec<u8>> {
    const ENTRY_SIZE: usize = 8;
    let names: Vec<&str> = names.into_iter().collect();
    let mut table = u32::try_from(names.len()).ok()?.to_le_bytes().to_vec();
    let mut offset = names.len().checked_mul(ENTRY_SIZE)?.checked_add(4)?;
    for name in &names {
        table.extend(u32::try_from(offset).ok()?.to_le_bytes());
        table.extend(u32::try_from(name.len()).ok()?.to_le_bytes());
        offset = offset.checked_add(name.len())?.checked_add(1)?;
    }
    for name in names {
        table.extend(name.as_bytes());
        table.push(0);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload_binary;

    /// By clang-sycl-linker.
    const BINARY: &[u8] = include_bytes!("../tests/data/sycl.bundle");

    #[test]
    fn the_text_is_that_of_clang_sycl_linker() {
        let images = offload_binary::parse(BINARY).unwrap();
        let found = images[0].string(KEY).unwrap();
        assert_eq!(in_text(found), ["scale", "fill"]);
        assert_eq!(text(["scale", "fill"]), found);
        assert!(in_text(b"").is_empty());
    }

    #[test]
    fn the_table_tells_where_each_name_is() {
        let table = table(["scale", "", "fill"]).unwrap();
        let number = |at: usize| {
            let bytes = table[at..at + 4].try_into().unwrap();
            u32::from_le_bytes(bytes) as usize
        };
        assert_eq!(number(0), 3);
        for (index, name) in ["scale", "", "fill"].iter().enumerate() {
            let (start, length) = (number(4 + 8 * index), number(8 + 8 * index));
            assert_eq!(&table[start..start + length], name.as_bytes());
            assert_eq!(table[start + length], 0);
        }
        assert_eq!(table.len(), 4 + 3 * 8 + 6 + 1 + 5);
    }
}
