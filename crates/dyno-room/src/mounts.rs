//! The room's view of the file system: made by its first process in a mount namespace that nobody else sees.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
};

use crate::error::{Result, RoomError, Step};
use crate::files::{self, BUNDLE, CERTIFICATES, FOLDER, HOME, TEMPORARY};
use crate::options::Furnishing;
use crate::protocol::NameFiles;

/// Symbolic links that are followed before giving up, as in the kernel.
const MAXIMUM_LINKS: usize = 40;

/// Bundles of other families of Linux, replaced where they exist.
const OTHER_BUNDLES: &[&str] = &[
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/java/cacerts",
    "/etc/pki/java/cacerts",
];

/// Makes what needs no word from the caller: a private tree, an own `/proc`, empty `/run` and `/dev/shm`.
///
/// `/run` is where the sockets of nscd, dbus and systemd-resolved lie: sockets with a path cross network namespaces.
pub(crate) fn seclude() -> Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).step(|| "making the room's mounts private".to_owned())?;
    let proc_flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", proc_flags, None)
        .step(|| "mounting the room's own /proc".to_owned())
        .map_err(|error| {
            error.with_cure("in a container it takes --privileged, or an unmasked /proc")
        })?;
    empty_directory("/run", "mode=0755")?;
    if Path::new("/dev/shm").is_dir() {
        empty_directory("/dev/shm", "mode=1777")?;
    }
    if fs::symlink_metadata("/var/run").is_ok_and(|var_run| var_run.is_dir()) {
        empty_directory("/var/run", "mode=0755")?;
    }
    for (folder, mode) in [(FOLDER, 0o755), (HOME, 0o755), (TEMPORARY, 0o1777)] {
        create_directory(Path::new(folder), mode)?;
    }
    Ok(())
}

fn empty_directory(path: &'static str, options: &str) -> Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let options = std::ffi::CString::new(options).expect("options hold no NUL");
    mount("tmpfs", path, "tmpfs", flags, options.as_c_str())
        .step(|| format!("mounting an empty {path}"))
}

fn create_directory(path: &Path, mode: u32) -> Result<()> {
    let step = || format!("creating {} inside the room", path.display());
    DirBuilder::new().recursive(true).create(path).step(step)?;
    // Not by DirBuilder's mode: the caller's umask would cut it.
    fs::set_permissions(path, Permissions::from_mode(mode)).step(step)
}

/// Lays the room's files over the machine's.
pub(crate) fn furnish(furnishing: &Furnishing, names: &NameFiles) -> Result<()> {
    let mut overlays = Overlays::default();
    for (path, content) in [
        ("/etc/resolv.conf", names.resolver.as_str()),
        ("/etc/hosts", &names.hosts),
        ("/etc/nsswitch.conf", files::name_service_switch()),
    ] {
        lay_file(Path::new(path), content.as_bytes(), &mut overlays)?;
    }
    if !furnishing.authorities.is_empty() {
        lay_trust(furnishing, &mut overlays)?;
    }
    protect_kernel_settings();
    Ok(())
}

fn lay_trust(furnishing: &Furnishing, overlays: &mut Overlays) -> Result<()> {
    let generated = files::certificate_directory(&furnishing.authorities).ok_or_else(|| {
        RoomError::Invalid {
            what: "the room's certificate authority is not a DER certificate".to_owned(),
            cure: "pass the DER that belongs to its PEM".to_owned(),
        }
    })?;
    let folder = Path::new(FOLDER).join("certificates");
    create_directory(&folder.join("java"), 0o755)?;
    for (name, content) in generated {
        write_file(&folder.join(name), &content)?;
    }
    overlays.provide(Path::new(CERTIFICATES), Kind::Directory)?;
    bind(&folder, Path::new(CERTIFICATES))?;

    let bundle = Path::new(BUNDLE);
    let keystore = Path::new(CERTIFICATES).join("java/cacerts");
    let existing = OTHER_BUNDLES
        .iter()
        .map(Path::new)
        .filter(|path| path.is_file());
    for target in existing.chain(furnishing.trust_files.iter().map(PathBuf::as_path)) {
        if !target.is_file() {
            return Err(RoomError::Invalid {
                what: format!("trust file {} does not exist", target.display()),
                cure: "name a file that the subject reads its authorities from".to_owned(),
            });
        }
        let source = if files::is_java_keystore(target) {
            &keystore
        } else {
            bundle
        };
        // On Debian several of these lead into the directory that has just been replaced.
        if !fs::canonicalize(target).is_ok_and(|target| target.starts_with(CERTIFICATES)) {
            bind(source, target)?;
        }
    }
    Ok(())
}

fn lay_file(target: &Path, content: &[u8], overlays: &mut Overlays) -> Result<()> {
    let name = target.file_name().expect("a file has a name");
    let source = Path::new(FOLDER).join(name);
    write_file(&source, content)?;
    overlays.provide(target, Kind::File)?;
    bind(&source, target)
}

fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    let step = || format!("writing {} inside the room", path.display());
    fs::write(path, content).step(step)?;
    fs::set_permissions(path, Permissions::from_mode(0o644)).step(step)
}

fn bind(source: &Path, target: &Path) -> Result<()> {
    mount_bind(source, target)
        .step(|| format!("laying the room's own file over {}", target.display()))
}

/// What a mount point has to be.
#[derive(Debug, Clone, Copy)]
enum Kind {
    File,
    Directory,
}

/// Makes mount points where the machine has none, without touching the machine: on overlays that the room alone sees.
#[derive(Debug, Default)]
struct Overlays {
    bases: Vec<PathBuf>,
}

impl Overlays {
    /// Makes sure that something of this kind stands at `target`.
    fn provide(&mut self, target: &Path, kind: Kind) -> Result<()> {
        let place = follow_links(target);
        if place.exists() {
            return Ok(());
        }
        let base = place
            .ancestors()
            .skip(1)
            .find_map(|ancestor| fs::canonicalize(ancestor).ok())
            .unwrap_or_else(|| PathBuf::from("/"));
        // What is already the room's alone can be written to: overlays do not pile up.
        let is_private =
            base.starts_with("/run") || self.bases.iter().any(|known| base.starts_with(known));
        if !is_private {
            self.overlay(&base).map_err(|error| {
                error.with_cure(&format!("create {} as root", target.display()))
            })?;
        }
        let step = || format!("creating {} inside the room", place.display());
        match kind {
            Kind::Directory => fs::create_dir_all(&place).step(step),
            Kind::File => {
                let parent = place.parent().unwrap_or(Path::new("/"));
                fs::create_dir_all(parent)
                    .and_then(|()| fs::write(&place, ""))
                    .step(step)
            }
        }
    }

    fn overlay(&mut self, base: &Path) -> Result<()> {
        let layers = Path::new(FOLDER).join(format!("overlay-{}", self.bases.len()));
        self.bases.push(base.to_owned());
        let (upper, work) = (layers.join("upper"), layers.join("work"));
        create_directory(&upper, 0o755)?;
        create_directory(&work, 0o755)?;
        let options = format!(
            "lowerdir={},upperdir={},workdir={},userxattr",
            base.display(),
            upper.display(),
            work.display()
        );
        let options = std::ffi::CString::new(options)
            .map_err(io::Error::from)
            .step(|| format!("naming the overlay over {}", base.display()))?;
        mount(
            "overlay",
            base,
            "overlay",
            MountFlags::empty(),
            options.as_c_str(),
        )
        .step(|| {
            format!(
                "mounting an overlay over {}, where a file is missing",
                base.display()
            )
        })
    }
}

/// Where a path leads when its last component is a chain of symbolic links, also one that leads nowhere.
fn follow_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAXIMUM_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => break,
        }
    }
    path
}

/// Keeps a subject that is root from the machine's settings and from the control groups that account for it.
///
/// Where the kernel refuses, nothing is lost but this protection.
fn protect_kernel_settings() {
    for path in ["/proc/sys", "/sys"] {
        if mount_bind_recursive(path, path).is_ok() {
            let _ = make_read_only(path);
        }
    }
}

/// Makes a mount and all below it read-only.
fn make_read_only(path: &str) -> io::Result<()> {
    let path = std::ffi::CString::new(path)?;
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path ends in NUL and both pointers are to live local values; the size is that of the structure passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_followed() {
        let folder = std::env::temp_dir().join(format!("dyno-room-links-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let first = folder.join("resolv.conf");
        symlink("second", &first).unwrap();
        symlink("../nowhere/stub", folder.join("second")).unwrap();
        assert_eq!(follow_links(&first), folder.join("../nowhere/stub"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
