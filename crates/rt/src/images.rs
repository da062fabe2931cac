//! Images for those who load modules by themselves.

/// One linked image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The device triple, such as `nvptx64-nvidia-cuda`.
    pub triple: &'static str,
    /// The arch or target ID, such as `sm_90` or `gfx90a:xnack+`.
    pub arch: &'static str,
    /// What the device's driver loads, 16-aligned: a cubin, PTX text that ends in
    /// a zero byte, or an hsaco.
    pub bytes: &'static [u8],
    /// It is PTX, which the driver compiles for the device.
    pub is_ptx: bool,
}

/// The images of one set of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Images(&'static [Image]);

impl Images {
    /// These images.
    pub const fn new(images: &'static [Image]) -> Self {
        Self(images)
    }

    /// All of them.
    pub fn all(&self) -> &'static [Image] {
        self.0
    }

    /// The best image for a device, which is named as its driver names it:
    /// `sm_90` (or the compute capability, `9.0`) for NVIDIA's, a target ID such as
    /// `gfx90a:sramecc+:xnack-` (`gcnArchName`) for AMD's.
    ///
    /// On NVIDIA GPUs that is the cubin of the latest arch that the device runs:
    /// those of the same major version up to its own, `sm_90a` and the like on
    /// exactly that arch, `sm_100f` and the like within their family; else the PTX of
    /// the latest arch up to its own. On AMD GPUs it is the image of that processor
    /// whose settings (`:xnack`, `:sramecc`) agree with the device's where it has
    /// any, the one with more settings first.
    pub fn for_device(&self, device: &str) -> Option<&'static Image> {
        let rank = |image: &Image| rank(image, device);
        let fitting = self.0.iter().filter(|image| rank(image).is_some());
        fitting.max_by_key(|image| rank(image))
    }
}

/// How well an image fits a device; nothing if it doesn't.
fn rank(image: &Image, device: &str) -> Option<(bool, u32)> {
    match NvidiaArch::parse(device) {
        Some(device) => {
            let arch = NvidiaArch::parse(image.arch)?;
            device
                .runs(&arch, image.is_ptx)
                .then_some((!image.is_ptx, arch.number * 4 + u32::from(arch.suffix)))
        }
        None => amd_rank(image.arch, device).map(|settings| (true, settings)),
    }
}

/// `sm_90a`, or a device's compute capability.
struct NvidiaArch {
    /// Ten times the major version, plus the minor one.
    number: u32,
    /// 0: none; 1: `f`, the arch's family only; 2: `a`, that arch only.
    suffix: u8,
}

impl NvidiaArch {
    fn parse(text: &str) -> Option<Self> {
        if let Some((major, minor)) = text.split_once('.') {
            let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
            return (major < 1000 && minor < 10).then(|| Self {
                number: major * 10 + minor,
                suffix: 0,
            });
        }
        let digits = text.strip_prefix("sm_")?;
        let (digits, suffix) = match digits.strip_suffix(['a', 'f']) {
            Some(rest) if digits.ends_with('a') => (rest, 2),
            Some(rest) => (rest, 1),
            None => (digits, 0),
        };
        let number = digits.parse().ok().filter(|number| *number < 10_000)?;
        Some(Self { number, suffix })
    }

    /// Whether a device of this arch runs code for `arch`: NVIDIA's "CUDA C++
    /// Programming Guide", 13.0, on binary and PTX compatibility.
    fn runs(&self, arch: &Self, is_ptx: bool) -> bool {
        match arch.suffix {
            2 => arch.number == self.number,
            1 => arch.number / 10 == self.number / 10 && arch.number <= self.number,
            _ if is_ptx => arch.number <= self.number,
            _ => arch.number / 10 == self.number / 10 && arch.number <= self.number,
        }
    }
}

/// How many settings of `arch` the device has too; nothing if it is another
/// processor or a setting contradicts it.
fn amd_rank(arch: &str, device: &str) -> Option<u32> {
    let (processor, wanted) = arch.split_once(':').unwrap_or((arch, ""));
    let (other, settings) = device.split_once(':').unwrap_or((device, ""));
    if processor != other {
        return None;
    }
    let mut wanted = wanted.split(':').filter(|setting| !setting.is_empty());
    wanted.try_fold(0, |count, setting| {
        let has = settings.split(':').any(|found| found == setting);
        has.then_some(count + 1)
    })
}

/// `$path`'s bytes where a driver can read them: 16-aligned, and a zero byte
/// behind PTX. What `offlink-build` writes uses this.
#[doc(hidden)]
#[macro_export]
macro_rules! image_bytes {
    ($path:expr) => {{
        #[repr(C, align(16))]
        struct Aligned<Bytes: ?Sized>(Bytes);
        const IMAGE: &Aligned<[u8]> = &Aligned(*::core::include_bytes!($path));
        &IMAGE.0
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn image(arch: &'static str, is_ptx: bool) -> Image {
        Image {
            triple: "",
            arch,
            bytes: &[],
            is_ptx,
        }
    }

    static IMAGES: Images = Images::new(&[
        image("sm_80", true),
        image("sm_80", false),
        image("sm_86", false),
        image("sm_90", false),
        image("sm_90a", false),
        image("sm_100f", false),
        image("gfx90a", false),
        image("gfx90a:xnack+", false),
        image("gfx942:sramecc+:xnack-", false),
    ]);

    fn chosen(device: &str) -> Option<(&'static str, bool)> {
        let image = IMAGES.for_device(device)?;
        Some((image.arch, image.is_ptx))
    }

    #[test]
    fn nvidia() {
        assert_eq!(chosen("sm_80"), Some(("sm_80", false)));
        assert_eq!(chosen("8.9"), Some(("sm_86", false)));
        assert_eq!(chosen("sm_90"), Some(("sm_90a", false)));
        assert_eq!(chosen("10.3"), Some(("sm_100f", false)));
        assert_eq!(chosen("12.0"), Some(("sm_80", true)));
        assert_eq!(chosen("sm_75"), None);
        assert_eq!(chosen("9.x"), None);
    }

    #[test]
    fn amd() {
        let device = "gfx90a:sramecc+:xnack-";
        assert_eq!(chosen(device), Some(("gfx90a", false)));
        let device = "gfx90a:sramecc+:xnack+";
        assert_eq!(chosen(device), Some(("gfx90a:xnack+", false)));
        assert_eq!(chosen("gfx942:sramecc+:xnack+"), None);
        assert_eq!(chosen("gfx1100"), None);
    }

    #[test]
    fn bytes_are_aligned() {
        let bytes: &'static [u8] = crate::image_bytes!("lib.rs");
        assert_eq!(bytes.as_ptr().addr() % 16, 0);
        assert!(bytes.starts_with(b"//!"));
    }
}
