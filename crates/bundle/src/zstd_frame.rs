//! zstd frames whose size after inflation is stated beside them.

/// Inflates `frames`, one or more zstd frames without anything behind them, to
/// exactly `size` bytes.
///
/// The frames are inflated in one go, not as a stream: compressors that have
/// all of the input at hand write frames whose window is the whole content, and
/// a streaming reader refuses windows above 128 MiB.
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
