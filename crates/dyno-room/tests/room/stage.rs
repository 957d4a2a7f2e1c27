//! Runs engines for the tests, as root or as an ordinary user, and finds leftovers.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::Value;

/// User id of `nobody` on every Linux system.
const ORDINARY: u32 = 65534;
/// Timeout of a condition, as a protection against hangs only.
pub const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);

/// User that runs the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Root.
    Root,
    /// A user without any capability.
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

/// A folder with a copy of this program that every user can reach; the last clone removes it.
#[derive(Debug, Clone)]
pub struct Stage {
    user: User,
    folder: Arc<Folder>,
}

#[derive(Debug)]
struct Folder(PathBuf);

/// Facts that a room requires.
pub const NEEDED: [&str; 2] = ["network_namespaces", "process_namespaces"];

/// Return whether a fact is true.
pub fn is_yes(facts: &[Value], name: &str) -> bool {
    let mut facts = facts.iter();
    facts.any(|fact| fact["name"] == name && fact["value"] == true && fact["ok"] == "yes")
}

/// Why there is no stage.
#[derive(Debug)]
pub enum NoStage {
    /// This user cannot make rooms here; tests that need them are skipped.
    Impossible(String),
    /// The user should be able to, but fails.
    Broken(String),
}

impl Folder {
    /// Make a new folder: a killed run with the same PID may have left one of this name.
    fn make(user: User) -> std::io::Result<Self> {
        let stem = format!("dyno-room-{user}-{}", std::process::id());
        let mut names = (0..).map(|number| std::env::temp_dir().join(format!("{stem}-{number}")));
        let path = loop {
            let path = names.next().expect("there are more numbers than folders");
            match fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => break made.map(|()| path)?,
            }
        };
        let folder = Self(path);
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777))?;
        fs::copy(std::env::current_exe()?, folder.0.join("room"))?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An engine that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Output and status.
    pub output: Output,
    /// Report; null if it wrote none.
    pub report: Value,
}

impl Ended {
    /// Return the standard output as text.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Return the standard error as text.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

impl Stage {
    /// Make a stage for this user, or return why the machine has none.
    pub fn new(user: User) -> Result<Self, NoStage> {
        let is_root = rustix::process::geteuid().is_root();
        if user == User::Root && !is_root {
            return Err(NoStage::Impossible("the tests do not run as root".into()));
        }
        let folder = Folder::make(user).map_err(|error| NoStage::Broken(error.to_string()))?;
        let stage = Self {
            user,
            folder: Arc::new(folder),
        };
        let tried = |error: Failed| NoStage::Broken(format!("{error:?}"));
        let trial = stage.run(&[], &["true"]).map_err(tried)?;
        if trial.output.status.code() != Some(125) {
            return Ok(stage);
        }
        let reason = trial.stderr().trim().to_owned();
        // If the machine can have rooms, the room itself is broken.
        Err(match stage.facts().map_err(tried)? {
            Value::Array(facts) if NEEDED.iter().all(|name| is_yes(&facts, name)) => {
                NoStage::Broken(reason)
            }
            _ => NoStage::Impossible(reason),
        })
    }

    /// Return the room's facts for this user.
    pub fn facts(&self) -> Result<Value, Failed> {
        let mut command = Command::new(self.program());
        command.args(["subject", "facts"]);
        self.become_user(&mut command);
        Ok(serde_json::from_slice(&command.output()?.stdout)?)
    }

    /// Return why this user has no emulated links, if the machine's permissions are the reason.
    pub fn no_links(&self) -> Option<String> {
        let tried = self.run(&["--link", "rtt=1ms"], &["true"]).ok()?;
        let said = tried.stderr();
        said.contains("/dev/net/tun")
            .then(|| said.trim().to_owned())
    }

    /// Return the user that runs the engines.
    pub fn user(&self) -> User {
        self.user
    }

    /// Return the path of this program.
    pub fn program(&self) -> PathBuf {
        self.folder.0.join("room")
    }

    /// Return a path that no other test uses.
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

    /// Return a word that no other process has among its arguments.
    pub fn token(&self) -> String {
        let path = self.path("token");
        path.to_string_lossy().replace('/', "_")
    }

    /// Return a command that starts an engine for this subject.
    pub fn engine(&self, options: &[&str], subject: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(self.program());
        command.arg("engine").args(options).arg("--").args(subject);
        self.become_user(&mut command);
        command
    }

    /// Return the arguments of a subject that this program plays.
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

    /// Make the command run as this stage's user.
    pub fn become_user(&self, command: &mut Command) {
        if self.user == User::Ordinary && rustix::process::geteuid().is_root() {
            command.uid(ORDINARY).gid(ORDINARY);
            // Root's PATH may contain folders that other users may not enter.
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        }
    }

    /// Run an engine to its end, with an empty input.
    pub fn run(&self, options: &[&str], subject: &[impl AsRef<OsStr>]) -> Result<Ended, Failed> {
        let (engine, report) = self.start(options, subject)?;
        let output = engine.wait_with_output()?;
        Ok(Ended {
            report: read_report(&report),
            output,
        })
    }

    /// Start an engine and leave it running; return the path of its report.
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

/// Read the JSON in a file; null if there is none.
pub fn read_report(path: &Path) -> Value {
    fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// Return all descendants of this process, which adopts orphans.
pub fn descendants() -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    let parents: HashMap<i32, i32> = entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name, in parentheses, may contain anything; after it come the state and the parent.
            let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
            Some((pid, parent.parse().ok()?))
        })
        .collect();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let descends = |pid: &i32| {
        // The table is not a consistent snapshot, but no chain is longer than it.
        let mut ancestors = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied());
        ancestors
            .by_ref()
            .skip(1)
            .take(parents.len())
            .any(|ancestor| ancestor == own)
    };
    parents.keys().copied().filter(descends).collect()
}

/// Reap an orphaned process if it has ended; return whether it has.
pub fn has_ended(pid: i32) -> bool {
    use rustix::process::{Pid, WaitOptions, waitpid};
    // Its parent reaped a process that is not a child of this one.
    !matches!(waitpid(Pid::from_raw(pid), WaitOptions::NOHANG), Ok(None))
}

/// Return our processes with this word among their arguments.
pub fn processes_with(word: &str) -> Vec<i32> {
    descendants()
        .into_iter()
        .filter(|pid| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            arguments
                .split(|&byte| byte == 0)
                .any(|argument| argument == word.as_bytes())
        })
        .collect()
}

/// Return the control groups whose name contains this engine's PID and PID namespace.
pub fn control_groups_of(engine: u32) -> Vec<PathBuf> {
    let namespace = fs::metadata("/proc/self/ns/pid").expect("/proc is mounted");
    let stem = format!("httpdyno-{}-{engine}-", namespace.ino());
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(&stem) {
                found.push(entry.path());
            } else {
                folders.push(entry.path());
            }
        }
    }
    found
}

/// Wait until a condition holds; fail with `what` on timeout.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) -> Result<(), Failed> {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > PATIENCE {
            return Err(format!("waited {PATIENCE:?} without success: {what}").into());
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// Return the machine's mounts at the mount points of a room; other programs mount elsewhere.
pub fn machine_mounts() -> std::io::Result<Vec<String>> {
    const POINTS: [&str; 10] = [
        "/dev/shm",
        "/etc/hosts",
        "/etc/nsswitch.conf",
        "/etc/resolv.conf",
        "/etc/ssl/certs",
        "/proc",
        "/proc/sys",
        "/run",
        "/sys",
        "/sys/fs/cgroup",
    ];
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let is_covered = |line: &&str| {
        let point = line.split(' ').nth(4);
        point.is_some_and(|point| POINTS.contains(&point))
    };
    Ok(table
        .lines()
        .filter(is_covered)
        .map(str::to_owned)
        .collect())
}

/// Repeat with more time until the result is right. On a busy machine a right implementation may need longer; a wrong one fails with any
/// time.
pub fn in_some_time(
    times_ms: &[u64],
    run: impl Fn(u64) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let (last, others) = times_ms.split_last().ok_or("no time")?;
    if others.iter().any(|time_ms| run(*time_ms).is_ok()) {
        return Ok(());
    }
    run(*last)
}

/// Fail unless both are equal.
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

/// Fail unless the condition is true.
pub fn holds(what: &str, condition: bool) -> Result<(), Failed> {
    same(what, condition, true)
}
