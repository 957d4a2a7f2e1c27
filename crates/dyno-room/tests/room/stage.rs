//! Runs engines for the tests, as root or as an ordinary user, and finds what they leave behind.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::Value;

/// `nobody`, on every Linux.
const ORDINARY: u32 = 65534;
/// How long a condition is waited for; long, since machines that run tests are slow.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// Who runs the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Root.
    Root,
    /// Somebody without any capability.
    Ordinary,
}

impl fmt::Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Root => "root",
            Self::Ordinary => "ordinary",
        })
    }
}

/// A folder with a copy of this program that every user can reach; gone with the last clone.
#[derive(Debug, Clone)]
pub struct Stage {
    user: User,
    folder: Arc<Folder>,
}

#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An engine that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its output and status.
    pub output: Output,
    /// Its report; null when it wrote none.
    pub report: Value,
}

impl Ended {
    /// Its standard output as text.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Its standard error as text.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

impl Stage {
    /// A stage for this user, or why the machine has none.
    pub fn new(user: User) -> Result<Self, String> {
        let is_root = rustix::process::geteuid().is_root();
        if user == User::Root && !is_root {
            return Err("the tests do not run as root".to_owned());
        }
        let path = std::env::temp_dir().join(format!("dyno-room-{user}-{}", std::process::id()));
        let prepared = fs::create_dir(&path)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o777)))
            .and_then(|()| fs::copy(std::env::current_exe()?, path.join("room")));
        prepared.map_err(|error| format!("{}: {error}", path.display()))?;
        let stage = Self {
            user,
            folder: Arc::new(Folder(path)),
        };
        let trial = stage
            .run(&[], &["true"])
            .map_err(|error| format!("{error:?}"))?;
        match trial.output.status.code() {
            Some(125) => Err(trial.stderr().trim().to_owned()),
            _ => Ok(stage),
        }
    }

    /// Why this user has no emulated links here, if that is for the machine's permissions.
    pub fn no_links(&self) -> Option<String> {
        let tried = self.run(&["--link", "rtt=1ms"], &["true"]).ok()?;
        let said = tried.stderr();
        said.contains("/dev/net/tun")
            .then(|| said.trim().to_owned())
    }

    /// Who runs the engines.
    pub fn user(&self) -> User {
        self.user
    }

    /// This program.
    pub fn program(&self) -> PathBuf {
        self.folder.0.join("room")
    }

    /// A path for one test's own file; no other test gets the same.
    pub fn path(&self, name: &str) -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = self
            .folder
            .0
            .join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        let made = fs::create_dir(&folder)
            .and_then(|()| fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)));
        made.expect("the stage's folder is writable");
        folder.join(name)
    }

    /// A word that no other process has among its arguments.
    pub fn token(&self) -> String {
        let path = self.path("token");
        path.to_string_lossy().replace('/', "_")
    }

    /// A command that starts an engine for this subject.
    pub fn engine(&self, options: &[&str], subject: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(self.program());
        command.arg("engine").args(options).arg("--").args(subject);
        self.become_user(&mut command);
        command
    }

    /// The arguments of a subject that this program plays.
    pub fn subject<'a>(&self, arguments: &[&'a str]) -> Vec<OsString> {
        [self.program().into_os_string(), "subject".into()]
            .into_iter()
            .chain(
                arguments
                    .iter()
                    .map(|&argument: &&'a str| OsString::from(argument)),
            )
            .collect()
    }

    /// Has the command run as this stage's user.
    pub fn become_user(&self, command: &mut Command) {
        if self.user == User::Ordinary && rustix::process::geteuid().is_root() {
            command.uid(ORDINARY).gid(ORDINARY);
            // Root's own may lead through folders that others may not enter.
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        }
    }

    /// Runs an engine to its end, with an empty input.
    pub fn run(&self, options: &[&str], subject: &[impl AsRef<OsStr>]) -> Result<Ended, Failed> {
        let (engine, report) = self.start(options, subject)?;
        let output = engine.wait_with_output()?;
        Ok(Ended {
            report: read_report(&report),
            output,
        })
    }

    /// Starts an engine and leaves it running; its report goes to the path that is returned.
    pub fn start(
        &self,
        options: &[&str],
        subject: &[impl AsRef<OsStr>],
    ) -> Result<(Child, PathBuf), Failed> {
        let report = self.path("report.json");
        let path = report.to_str().ok_or("a folder that is not UTF-8")?;
        let options = [options, &["--report", path]].concat();
        let mut command = self.engine(&options, subject);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok((command.spawn()?, report))
    }
}

/// The JSON in a file; null when there is none.
pub fn read_report(path: &Path) -> Value {
    fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// The processes that have this word among their arguments.
pub fn processes_with(word: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            arguments
                .split(|&byte| byte == 0)
                .any(|argument| argument == word.as_bytes())
        })
        .collect()
}

/// The control groups whose name holds this engine's number.
pub fn control_groups_of(engine: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let parts: Vec<&str> = name.split('-').collect();
            match parts[..] {
                ["httpdyno", _, pid, _] if pid == engine.to_string() => found.push(entry.path()),
                _ => folders.push(entry.path()),
            }
        }
    }
    found
}

/// Waits until something holds; fails with `what` when it does not in time.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) -> Result<(), Failed> {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > PATIENCE {
            return Err(format!("waited {PATIENCE:?} in vain: {what}").into());
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// Fails unless both are equal.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the calls read better without references to literals"
)]
pub fn same<T: PartialEq<U> + fmt::Debug, U: fmt::Debug>(
    what: &str,
    found: T,
    expected: U,
) -> Result<(), Failed> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: found {found:?}, expected {expected:?}").into())
    }
}

/// Fails unless it holds.
pub fn holds(what: &str, condition: bool) -> Result<(), Failed> {
    same(what, condition, true)
}
