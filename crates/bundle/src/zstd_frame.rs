//! zstd frames whose size after inflation is stated beside them.

/// Inflates `frames`, one or more zstd frames without anything behind them, to
/// `size` bytes at most; the caller sees whether there were fewer.
///
/// They are inflated in one go, not as a stream: as the size is known, that
/// needs no second buffer for the window, and windows of any size are read.
///
/// The error says in words what is wrong with the frames.
pub(crate) fn inflate(frames: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let capacity = usize::try_from(size).map_err(|_| "it does not fit in memory".to_owned())?;
    let mut inflated = Vec::new();
    // The size is the file's word, so a failed allocation may not abort. Pages
    // that the frames don't fill are never touched.
    inflated
        .try_reserve_exact(capacity)
        .map_err(|_| "there is not enough memory".to_owned())?;
    zstd::bulk::Decompressor::new()
        .and_then(|mut decompressor| decompressor.decompress_to_buffer(frames, &mut inflated))
        .map_err(|error| error.to_string())?;
    Ok(inflated)
}

#[cfg(test)]
mod tests {
    use super::inflate;

    #[test]
    fn a_size_that_is_too_small_is_an_error() {
        let frame = zstd::bulk::compress(b"content", 1).unwrap();
        assert_eq!(inflate(&frame, 7).as_deref(), Ok(b"content".as_slice()));
        assert!(inflate(&frame, 6).is_err());
        assert!(inflate(&frame, u64::MAX).is_err());
        assert!(inflate(&frame[..10], 7).is_err());
    }
}
