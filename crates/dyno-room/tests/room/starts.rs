//! Starting a subject: streams, status, directory, environment, and every failure to start.

use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use libtest_mimic::Failed;

use crate::Test;
use crate::stage::{NEEDED, Stage, holds, is_yes, same};

pub const TESTS: &[(&str, Test)] = &[
    (
        "streams_and_status_pass_through",
        streams_and_status_pass_through,
    ),
    (
        "the_directory_is_the_requested_one",
        the_directory_is_the_requested_one,
    ),
    (
        "no_descriptor_leaks_into_the_subject",
        no_descriptor_leaks_into_the_subject,
    ),
    ("a_clean_environment_is_clean", a_clean_environment_is_clean),
    (
        "a_program_that_cannot_be_executed_is_reported",
        a_program_that_cannot_be_executed_is_reported,
    ),
    (
        "a_room_is_entered_with_one_thread",
        a_room_is_entered_with_one_thread,
    ),
    ("a_missing_cpu_is_one_line", a_missing_cpu_is_one_line),
    ("the_subject_is_pinned", the_subject_is_pinned),
    (
        "the_facts_say_that_rooms_can_be_made",
        the_facts_say_that_rooms_can_be_made,
    ),
];

fn streams_and_status_pass_through(stage: &Stage) -> Result<(), Failed> {
    let mut command = stage.engine(&[], &["sh", "-c", "cat; echo problem >&2; exit 7"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    input.write_all(b"words\n")?;
    // If the room kept a copy of the other end, `cat` would wait forever.
    drop(input);
    let output = child.wait_with_output()?;
    same("output", String::from_utf8(output.stdout)?, "words\n")?;
    same(
        "error output",
        String::from_utf8(output.stderr)?,
        "problem\n",
    )?;
    same("status", output.status.code(), Some(7))
}

fn the_directory_is_the_requested_one(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&["--directory", "/usr"], &["pwd"])?;
    same("working directory", ended.stdout(), "/usr\n")
}

fn no_descriptor_leaks_into_the_subject(stage: &Stage) -> Result<(), Failed> {
    let file = fs::File::open("/dev/null")?;
    // A descriptor without close-on-exec, as an inherited one may be.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
    holds("the descriptor is a further one", file.as_raw_fd() > 2)?;
    let ended = stage.run(&[], &stage.subject(&["descriptors"]))?;
    same("descriptors", ended.stdout(), "[0, 1, 2]\n")
}

fn a_clean_environment_is_clean(stage: &Stage) -> Result<(), Failed> {
    let script =
        "env | cut -d= -f1 | sort | tr '\\n' ' '; touch $HOME/x $TMPDIR/x && echo writable";
    let ended = stage.run(&["--clean"], &["sh", "-c", script])?;
    same(
        "variables",
        ended.stdout(),
        "DENO_NO_UPDATE_CHECK DENO_TLS_CA_STORE DOTNET_CLI_TELEMETRY_OPTOUT HOME LANG PATH PWD TMPDIR TZ writable\n",
    )
}

fn a_program_that_cannot_be_executed_is_reported(stage: &Stage) -> Result<(), Failed> {
    let script = stage.path("script");
    fs::write(&script, "#!/no/such/interpreter\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let plain = stage.path("plain");
    fs::write(&plain, "text")?;
    let script = script.to_string_lossy();
    let plain = plain.to_string_lossy();
    for (subject, options, reason) in [
        ("no-such-program", &[][..], "it is in no folder of PATH"),
        ("/no/such/program", &[], "No such file or directory"),
        (&script, &[], "the interpreter that it names does not exist"),
        (&plain, &[], "it is not executable"),
        (
            "true",
            &["--directory", "/no/such"],
            "entering the working directory /no/such",
        ),
    ] {
        let ended = stage.run(options, &[subject])?;
        same(
            subject,
            ended.report["outcome"].as_str(),
            Some("failed_to_start"),
        )?;
        let found = ended.report["reason"].as_str().unwrap_or_default();
        holds(&format!("{subject}: {found}"), found.contains(reason))?;
        same("one line", found.lines().count(), 1)?;
        same("status", ended.output.status.code(), Some(127))?;
    }
    Ok(())
}

fn a_room_is_entered_with_one_thread(stage: &Stage) -> Result<(), Failed> {
    let mut command = std::process::Command::new(stage.program());
    command.args(["subject", "two-threads"]);
    stage.become_user(&mut command);
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    holds(&text, text.contains("thread") && text.lines().count() == 1)
}

fn a_missing_cpu_is_one_line(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&["--subject-cpu", "1000"], &["true"])?;
    same("status", ended.output.status.code(), Some(125))?;
    let text = ended.stderr();
    holds(
        &text,
        text.contains("CPU 1000 is not available here; choose from"),
    )?;
    same("one line", text.lines().count(), 1)
}

fn the_subject_is_pinned(stage: &Stage) -> Result<(), Failed> {
    let allowed = dyno_room::CpuSet::allowed()?;
    let first = allowed.iter().next().ok_or("no CPU")?.to_string();
    let ended = stage.run(
        &["--subject-cpu", &first],
        &["grep", "Cpus_allowed_list", "/proc/self/status"],
    )?;
    same(
        "CPUs",
        ended.stdout(),
        format!("Cpus_allowed_list:\t{first}\n"),
    )?;
    same(
        "role",
        ended.report["cpus"][0]["role"].as_str(),
        Some("both"),
    )
}

fn the_facts_say_that_rooms_can_be_made(stage: &Stage) -> Result<(), Failed> {
    let facts = stage.facts()?;
    let facts = facts.as_array().ok_or("no facts")?;
    // This stage exists because a room could be made.
    for name in NEEDED {
        holds(name, is_yes(facts, name))?;
    }
    Ok(())
}
