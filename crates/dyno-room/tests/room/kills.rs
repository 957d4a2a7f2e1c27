//! SIGKILL of any process of the chain leaves nothing behind.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};

use crate::Test;
use crate::stage::{
    Stage, control_groups_of, descendants, has_ended, holds, machine_mounts, processes_with, same,
    wait_until,
};

pub const TESTS: &[(&str, Test)] = &[
    (
        "killing_the_engines_parent_leaves_nothing",
        killing_the_engines_parent_leaves_nothing,
    ),
    (
        "killing_the_engine_leaves_nothing",
        killing_the_engine_leaves_nothing,
    ),
    (
        "killing_the_first_process_leaves_nothing",
        killing_the_first_process_leaves_nothing,
    ),
];

/// A running room, with the PIDs of its processes.
struct Scene {
    token: String,
    parent: Child,
    engine: i32,
    init: i32,
    /// Its namespaces, by their names in the kernel.
    namespaces: Vec<PathBuf>,
    mounts: Vec<String>,
}

impl Scene {
    /// Start a shell that starts an engine whose subject and daemon sleep.
    fn set(stage: &Stage) -> Result<Self, Failed> {
        let token = stage.token();
        let mounts = machine_mounts()?;
        let program = stage.program();
        let script = "\"$0\" engine -- sh -c '\"$0\" subject daemon $1; \"$0\" subject sleep $1' \"$0\" $1; echo over";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&program).arg(&token);
        stage.become_user(&mut command);
        let parent = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let asleep = || {
            let sleepers = processes_with(&token).into_iter();
            let count = sleepers.filter(|pid| argument(*pid, 2) == "sleep").count();
            count == 2
        };
        wait_until("subject and daemon run", asleep)?;
        let engine = child_of(i32::try_from(parent.id())?).ok_or("no engine")?;
        let init = child_of(engine).ok_or("no first process")?;
        let subject = child_of(init).ok_or("no subject")?;
        let namespaces = ["net", "mnt", "pid", "ipc", "uts"]
            .iter()
            .filter_map(|kind| fs::read_link(format!("/proc/{subject}/ns/{kind}")).ok())
            .chain(fs::read_link(format!("/proc/{engine}/ns/net")))
            .collect();
        Ok(Self {
            token,
            parent,
            engine,
            init,
            namespaces,
            mounts,
        })
    }

    /// Check that nothing is left, once the killed process is reaped.
    fn expect_cleared(mut self, stage: &Stage) -> Result<(), Failed> {
        wait_until("every process ends", || {
            let left = processes_with(&self.token);
            left.iter()
                .all(|pid| *pid == i32::try_from(self.parent.id()).unwrap_or(0))
        })?;
        self.parent.wait()?;
        wait_until("engine and first process end", || {
            has_ended(self.engine) && has_ended(self.init)
        })?;
        same("processes", processes_with(&self.token), Vec::<i32>::new())?;
        holds("the namespaces were seen", !self.namespaces.is_empty())?;
        for namespace in &self.namespaces {
            // Another test's room may reuse the number for a while.
            wait_until("a namespace ends", || users_of(namespace).is_empty())?;
        }
        same("mounts", &machine_mounts()?, &self.mounts)?;
        // A control group outlives processes killed with SIGKILL. The next room of the same user removes it once the kernel has
        // released it, some time after the last process has ended.
        let engine = u32::try_from(self.engine)?;
        wait_until("a room sweeps the control groups", || {
            stage.run(&[], &["true"]).is_ok() && control_groups_of(engine).is_empty()
        })
    }
}

fn killing_the_engines_parent_leaves_nothing(stage: &Stage) -> Result<(), Failed> {
    let scene = Scene::set(stage)?;
    kill_process(Pid::from_child(&scene.parent), Signal::KILL)?;
    scene.expect_cleared(stage)
}

fn killing_the_engine_leaves_nothing(stage: &Stage) -> Result<(), Failed> {
    let scene = Scene::set(stage)?;
    kill_process(
        Pid::from_raw(scene.engine).ok_or("no engine")?,
        Signal::KILL,
    )?;
    scene.expect_cleared(stage)
}

fn killing_the_first_process_leaves_nothing(stage: &Stage) -> Result<(), Failed> {
    let scene = Scene::set(stage)?;
    kill_process(
        Pid::from_raw(scene.init).ok_or("no first process")?,
        Signal::KILL,
    )?;
    scene.expect_cleared(stage)
}

/// Return one argument of a process.
fn argument(pid: i32, number: usize) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let argument = arguments
        .split(|&byte| byte == 0)
        .nth(number)
        .unwrap_or_default();
    String::from_utf8_lossy(argument).into_owned()
}

/// Return the first child of this process.
fn child_of(parent: i32) -> Option<i32> {
    let parent = format!("PPid:\t{parent}");
    let mut found: Vec<i32> = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            fs::read_to_string(format!("/proc/{pid}/status"))
                .is_ok_and(|status| status.lines().any(|line| line == parent))
        })
        .collect();
    found.sort_unstable();
    found.first().copied()
}

/// Return the links of our processes that refer to this namespace.
fn users_of(namespace: &PathBuf) -> Vec<PathBuf> {
    let processes = descendants().into_iter();
    processes
        .filter_map(|process| fs::read_dir(format!("/proc/{process}/ns")).ok())
        .flatten()
        .flatten()
        .map(|link| link.path())
        .filter(|link| fs::read_link(link).is_ok_and(|target| target == *namespace))
        .collect()
}
