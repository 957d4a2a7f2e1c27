//! The room's view of the file system, made by its first process in a private mount namespace.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};

use crate::error::{Result, RoomError, Step};
use crate::files::{self, BUNDLE, CERTIFICATES, CertificateFile, FOLDER, HOME, TEMPORARY};
use crate::options::{Authority, NamesAndTrust};
use crate::protocol::NameFiles;

/// Maximum number of symbolic links to follow, as in the kernel.
const MAXIMUM_LINKS: usize = 40;

/// Certificate bundles of other Linux distributions, replaced where they exist.
const OTHER_BUNDLES: &[&str] = &[
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/java/cacerts",
    "/etc/pki/java/cacerts",
];

/// Policy files of browsers, used if their base folder exists. Browsers use none of the trust stores above.
const CHROMIUM_POLICIES: [(&str, &str); 5] = [
    ("/etc/chromium", "policies/managed/httpdyno.json"),
    ("/etc/chromium-browser", "policies/managed/httpdyno.json"),
    ("/etc/opt/chrome", "policies/managed/httpdyno.json"),
    ("/etc/opt/edge", "policies/managed/httpdyno.json"),
    ("/etc/brave", "policies/managed/httpdyno.json"),
];
const FIREFOX_POLICIES: [(&str, &str); 5] = [
    ("/usr/lib/firefox-esr", "distribution/policies.json"),
    ("/usr/lib/firefox", "distribution/policies.json"),
    ("/usr/lib64/firefox", "distribution/policies.json"),
    ("/opt/firefox", "distribution/policies.json"),
    ("/etc/firefox", "policies/policies.json"),
];

/// Files that container runtimes by default make read-only or mask: the machine's triggers, interrupts and devices; its
/// memory, keys and timers.
const PROC_READ_ONLY: [&str; 5] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];
const PROC_MASKED: [&str; 9] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
];
const SYS_MASKED: [&str; 2] = ["/sys/devices/virtual/powercap", "/sys/firmware"];

/// Make what needs no options: private mounts, a new `/proc`, empty `/run` and `/dev/shm`.
///
/// `/run` contains the sockets of nscd, dbus and systemd-resolved; sockets with a path cross network namespaces.
pub(crate) fn isolate_mounts() -> Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).step(|| "making the room's mounts private".to_owned())?;
    mount_proc()?;
    empty_directory("/run", "mode=0755")?;
    if Path::new("/dev/shm").is_dir() {
        empty_directory("/dev/shm", "mode=1777")?;
    }
    if fs::symlink_metadata("/var/run").is_ok_and(|var_run| var_run.is_dir()) {
        empty_directory("/var/run", "mode=0755")?;
    }
    // Programs expect a folder for locks and one of the user's own.
    let own = format!("/run/user/{}", rustix::process::getuid().as_raw());
    for (folder, mode) in [
        (FOLDER, 0o755),
        (HOME, 0o755),
        (TEMPORARY, 0o1777),
        ("/run/lock", 0o1777),
        ("/run/user", 0o755),
        (&own, 0o700),
    ] {
        create_directory(Path::new(folder), mode)?;
    }
    Ok(())
}

/// Mount a `/proc` that shows this PID namespace.
fn mount_proc() -> Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)
        .step(|| "mounting the room's /proc".to_owned())
        .map_err(|error| {
            error.with_cure("in a container, run it with --privileged or with an unmasked /proc")
        })
}

/// Mount a `/proc` for a PID namespace inside the room, protected like the room's.
pub(crate) fn mount_nested_proc() -> Result<()> {
    mount_proc()?;
    protect(&PROC_READ_ONLY, &PROC_MASKED)
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
    // Set separately: the umask would restrict DirBuilder's mode.
    fs::set_permissions(path, Permissions::from_mode(mode)).step(step)
}

/// Mount the room's files over the machine's.
pub(crate) fn install_names_and_trust(
    names_and_trust: &NamesAndTrust,
    names: &NameFiles,
) -> Result<()> {
    let mut overlays = Overlays::default();
    for (path, content) in [
        ("/etc/resolv.conf", names.resolver.as_str()),
        ("/etc/hosts", &names.hosts),
        ("/etc/nsswitch.conf", files::name_service_switch()),
    ] {
        mount_file(Path::new(path), content.as_bytes(), &mut overlays)?;
    }
    if !names_and_trust.authorities.is_empty() {
        replace_trust_stores(names_and_trust, &mut overlays)?;
    }
    protect(&PROC_READ_ONLY, &PROC_MASKED)?;
    protect(&["/sys"], &SYS_MASKED)
}

fn replace_trust_stores(names_and_trust: &NamesAndTrust, overlays: &mut Overlays) -> Result<()> {
    let generated =
        files::certificate_directory(&names_and_trust.authorities).ok_or_else(|| {
            RoomError::Invalid {
                what: "the room's certificate authority is not a DER certificate".to_owned(),
                cure: "pass the DER form of its PEM".to_owned(),
            }
        })?;
    let folder = Path::new(FOLDER).join("certificates");
    create_directory(&folder.join("java"), 0o755)?;
    for (name, content) in &generated {
        write_file(&folder.join(name), content)?;
    }
    overlays.provide(Path::new(CERTIFICATES), Kind::Directory)?;
    bind(&folder, Path::new(CERTIFICATES))?;

    let bundle = Path::new(BUNDLE);
    let keystore = Path::new(CERTIFICATES).join("java/cacerts");
    let existing = OTHER_BUNDLES
        .iter()
        .map(Path::new)
        .filter(|path| path.is_file());
    for target in existing.chain(names_and_trust.trust_files.iter().map(PathBuf::as_path)) {
        if !target.is_file() {
            return Err(RoomError::Invalid {
                what: format!("trust file {} is not a file", target.display()),
                cure: "name a file from which the subject reads its authorities".to_owned(),
            });
        }
        let source = if files::is_java_keystore(target) {
            &keystore
        } else {
            bundle
        };
        // On Debian several of these are links into the directory that was just replaced.
        if !fs::canonicalize(target).is_ok_and(|target| target.starts_with(CERTIFICATES)) {
            bind(source, target)?;
        }
    }
    write_policies(&names_and_trust.authorities, &generated, overlays)
}

/// Make this machine's browsers trust the authorities by a policy, as an administrator would.
fn write_policies(
    authorities: &[Authority],
    generated: &[CertificateFile],
    overlays: &mut Overlays,
) -> Result<()> {
    let kinds = [
        (CHROMIUM_POLICIES, files::chromium_policy(authorities)),
        (FIREFOX_POLICIES, files::firefox_policy(generated)),
    ];
    for (places, policy) in kinds {
        for (folder, file) in places {
            if Path::new(folder).is_dir() {
                mount_file(&Path::new(folder).join(file), policy.as_bytes(), overlays)?;
            }
        }
    }
    Ok(())
}

fn mount_file(target: &Path, content: &[u8], overlays: &mut Overlays) -> Result<()> {
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
        .step(|| format!("mounting the room's file over {}", target.display()))
}

/// Type of a mount point.
#[derive(Debug, Clone, Copy)]
enum Kind {
    File,
    Directory,
}

/// Creates missing mount points on overlays that only the room sees, so that the machine is not changed.
#[derive(Debug, Default)]
struct Overlays {
    bases: Vec<PathBuf>,
}

impl Overlays {
    /// Ensure that a file or folder of this kind exists at `target`.
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
        // A folder that is already private is writable and needs no second overlay.
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

/// Resolve a chain of symbolic links in the last component of a path, also one that ends nowhere.
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

/// Protect the machine's settings, its memory and the subject's control groups from a subject that is root.
fn protect(read_only: &[&str], masked: &[&str]) -> Result<()> {
    for path in masked {
        mask(path).step(|| format!("masking {path} inside the room"))?;
    }
    for path in read_only.iter().filter(|path| Path::new(path).exists()) {
        mount_bind_recursive(*path, *path)
            .map_err(io::Error::from)
            .and_then(|()| make_read_only(path))
            .step(|| format!("making {path} read-only inside the room"))?;
    }
    Ok(())
}

/// Mount an empty file or folder over one that the machine has.
fn mask(path: &str) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(found) if found.is_dir() => {
            let flags =
                MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("tmpfs", path, "tmpfs", flags, c"mode=0555,nr_inodes=2")?;
        }
        _ => mount_bind("/dev/null", path)?,
    }
    Ok(())
}

/// Make a mount and all below it read-only.
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
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::ENOSYS) {
        return Err(error);
    }
    // Kernels before 5.12: mounts below stay writable.
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount_remount(&path, flags, c"")?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn broken_links_are_followed() {
        let folder = std::env::temp_dir().join(format!("dyno-room-links-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let first = folder.join("resolv.conf");
        symlink("second", &first).unwrap();
        symlink("../nowhere/stub", folder.join("second")).unwrap();
        assert_eq!(follow_links(&first), folder.join("../nowhere/stub"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
