//! Writing archives of device code, as LLVM's tools write them: GNU's format,
//! with no time, no owner and mode 644.

use crate::pipeline::symbols;

const MAGIC: &[u8] = b"!<arch>\n";
/// Names of more bytes go into a table of their own (GNU ar, "//").
const LONGEST_NAME: usize = 15;
const HEADER_SIZE: usize = 60;

/// An archive of `members`, names and contents, in their order. The symbol
/// index names what members that are ELF objects define; bitcode is not looked
/// into, as linkers do that themselves.
pub fn write(members: &[(String, &[u8])]) -> Vec<u8> {
    let defined: Vec<(usize, &str)> = members
        .iter()
        .enumerate()
        .flat_map(|(number, (_, data))| {
            let names = symbols::of_object(data).defined;
            names.into_iter().map(move |name| (number, name))
        })
        .collect();
    let (names, table) = names(members);
    let names_size: usize = defined.iter().map(|(_, name)| name.len() + 1).sum();
    let index_size = (4 + 4 * defined.len() + names_size).next_multiple_of(2);
    let mut start = MAGIC.len();
    if !defined.is_empty() {
        start += HEADER_SIZE + index_size;
    }
    if !table.is_empty() {
        start += HEADER_SIZE + table.len();
    }
    let mut starts = Vec::with_capacity(members.len());
    for (_, data) in members {
        starts.push(start as u32);
        start += HEADER_SIZE + data.len().next_multiple_of(2);
    }

    let mut archive = MAGIC.to_vec();
    if !defined.is_empty() {
        archive.extend(header("/", "0", "0", "0", "0", index_size));
        archive.extend((defined.len() as u32).to_be_bytes());
        for (number, _) in &defined {
            archive.extend(starts[*number].to_be_bytes());
        }
        let index_start = archive.len();
        for (_, name) in &defined {
            archive.extend(name.as_bytes());
            archive.push(0);
        }
        archive.resize(index_start + index_size - 4 - 4 * defined.len(), 0);
    }
    if !table.is_empty() {
        archive.extend(header("//", "", "", "", "", table.len()));
        archive.extend(table);
    }
    for (name, (_, data)) in names.iter().zip(members) {
        archive.extend(header(name, "0", "0", "0", "644", data.len()));
        archive.extend(*data);
        if data.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

/// What stands in each member's header, and the table of long names.
fn names(members: &[(String, &[u8])]) -> (Vec<String>, Vec<u8>) {
    let mut table = Vec::new();
    let mut names = Vec::with_capacity(members.len());
    for (name, _) in members {
        if name.len() > LONGEST_NAME {
            names.push(format!("/{}", table.len()));
            table.extend(name.as_bytes());
            table.extend(b"/\n");
        } else {
            names.push(format!("{name}/"));
        }
    }
    if table.len() % 2 == 1 {
        table.push(b'\n');
    }
    (names, table)
}

fn header(name: &str, time: &str, user: &str, group: &str, mode: &str, size: usize) -> Vec<u8> {
    format!("{name:<16}{time:<12}{user:<6}{group:<6}{mode:<8}{size:<10}`\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::archive::ArchiveFile;

    #[test]
    fn readers_find_the_members() {
        let members = [
            ("short.o".to_owned(), &b"abc"[..]),
            ("hip-amdgcn-amd-amdhsa--gfx90a.bc".to_owned(), b"de"),
        ];
        let archive = write(&members);
        let file = ArchiveFile::parse(&*archive).unwrap();
        let read: Vec<_> = file
            .members()
            .map(|member| {
                let member = member.unwrap();
                let name = String::from_utf8(member.name().to_vec()).unwrap();
                (name, member.data(&*archive).unwrap())
            })
            .collect();
        assert_eq!(read, members);
        assert_eq!(write(&[]), MAGIC);
    }
}
