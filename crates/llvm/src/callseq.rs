//! Making PTX text a function of its input.
//!
//! LLVM up to 20 numbers calls with a counter of the whole process and prints it in comments, `{ // callseq 7, 0`
//! and `} // callseq 7`, so that the text depends on what was compiled before (seen with 19.1.7).

/// `ptx` with those comments cut to `// callseq`.
pub(crate) fn without_numbers(ptx: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(ptx.len());
    for line in ptx.split_inclusive(|&byte| byte == b'\n') {
        let content = line.trim_ascii();
        let brackets =
            content.starts_with(b"{ // callseq ") || content.starts_with(b"} // callseq ");
        if !brackets {
            text.extend_from_slice(line);
            continue;
        }
        let indent = line.len() - line.trim_ascii_start().len();
        text.extend_from_slice(&line[..indent]);
        text.extend_from_slice(&content[..b"{ // callseq".len()]);
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_numbers_of_call_comments_go() {
        let ptx = "\t{ // callseq 30, 0\n\tcall.uni f; // callseq 30\n\t} // callseq 30\n\tret;";
        assert_eq!(
            String::from_utf8(without_numbers(ptx.as_bytes())).unwrap(),
            "\t{ // callseq\n\tcall.uni f; // callseq 30\n\t} // callseq\n\tret;"
        );
        assert_eq!(without_numbers(b""), b"");
    }
}
