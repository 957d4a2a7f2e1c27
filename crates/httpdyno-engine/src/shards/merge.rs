//! `merge`: checks that the shards of a list are whole and have each URL once, and writes the report of all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use clap::Args;
use dyno_fetch::{COLUMN_NAMES, Fingerprint};

use super::manifest::{
    self, Division, Fetched, Form, Rows, SPLIT_FILE, Stored, examine, is_report,
};
use super::rows::{Failed, Figures};
use super::total::{Sums, Total};
use super::{REST, shard_in};
use crate::messages::{UsageError, print_message, system_message};
use crate::stop::{received_signal, stop_at_signals};
use crate::table::thousands;
use crate::usage::HELP;

/// Exit status if a check failed.
const CHECK_FAILED: u8 = 1;
/// Messages that are printed; the rest is counted.
const MOST_MESSAGES: usize = 20;
/// Name of the report, in the first folder.
const REPORT_FILE: &str = "report.json";

/// Printed before the options.
const EXAMPLE: &str = "Example: httpdyno merge crawl -o rows.csv   check all shards, and write their rows to one file";
/// Printed after the options.
const MORE: &str = "\
A shard is done when its folder has a manifest. All shards must be of one list; each of its URLs must have one row, and \
each file its recorded length, rows and reports their digest, too. Each problem is one line. Nothing is changed or \
removed, and reports and rows are written only if all is right.

Exit status: 0 all shards are whole, 1 a check failed, 2 an option is wrong, 4 a disk is full, 125 the program failed.

More examples
    httpdyno merge crawl     check, and write crawl/report.json
    httpdyno merge node-1 node-2 --report report.json     shards in several folders";

/// The options of `merge`.
#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    /// Folders of fetch --into; all shards of a list together
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    /// Write the rows of all shards to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the report here (JSON) [default: report.json in the first folder]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// A shard that is done.
#[derive(Debug)]
struct Found {
    folder: PathBuf,
    fetched: Fetched,
}

impl Found {
    /// Number and folder of a divided shard, and how its other URLs were split.
    fn divided(&self) -> Option<(u32, PathBuf, Division)> {
        let rest = self.fetched.rest.clone()?;
        Some((self.fetched.number, self.folder.clone(), rest))
    }
}

/// The shards in the folders.
#[derive(Debug, Default)]
struct Survey {
    done: Vec<Found>,
    /// Folders of shards that are not done, by number.
    begun: BTreeMap<u32, PathBuf>,
    /// Folders with the other URLs of divided shards, by number.
    rests: BTreeMap<u32, Vec<PathBuf>>,
    problems: Vec<String>,
}

/// Checks and merges the shards.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let mut survey = survey(&arguments.folders)?;
    if survey.done.is_empty() && survey.begun.is_empty() && survey.problems.is_empty() {
        let folder = &arguments.folders[0];
        let cure = if folder.join(SPLIT_FILE).exists() {
            "it is a list of httpdyno split; name the folder of fetch --into".to_owned()
        } else {
            format!(
                "fetch them: httpdyno fetch --shard 1/16 --from lists --into {}",
                folder.display()
            )
        };
        bail!(UsageError::new(format_args!(
            "{}: has no shards; {cure}",
            folder.display()
        )));
    }
    let report = arguments
        .report
        .clone()
        .unwrap_or_else(|| arguments.folders[0].join(REPORT_FILE));
    check_destinations(arguments, &report, &survey.done)?;
    let first = survey
        .done
        .first()
        .map(|first| (first.folder.clone(), first.fetched.division.clone()));
    survey.check_together(first)?;
    let stop = stop_at_signals()?;
    let mut merge = Merge::new(arguments.output.as_deref(), &survey.done)?;
    for found in &survey.done {
        if stop.load(Ordering::Relaxed) {
            return Ok(128 + received_signal().unwrap_or_default());
        }
        if let Err(problem) = merge.add(found)? {
            survey.problems.push(problem);
        }
    }
    if survey.problems.is_empty() {
        survey.problems.extend(merge.check(&survey.done[0].fetched));
    }
    if !survey.problems.is_empty() {
        print_problems(&survey.problems);
        return Ok(CHECK_FAILED);
    }
    merge.publish()?;
    let total = Total::new(
        &survey.done[0].fetched.division,
        &merge.figures,
        &merge.sums,
    );
    manifest::write(&report, &total).with_context(|| report.display().to_string())?;
    print_message(format_args!(
        "{} {}, each URL once: {}; report: {}",
        thousands(survey.done.len() as u64),
        if survey.done.len() == 1 {
            "shard"
        } else {
            "shards"
        },
        total.summary(),
        report.display()
    ));
    Ok(0)
}

fn print_problems(problems: &[String]) {
    problems.iter().take(MOST_MESSAGES).for_each(print_message);
    if let Some(more @ 1..) = problems.len().checked_sub(MOST_MESSAGES) {
        print_message(format_args!("{} more problems", thousands(more as u64)));
    }
}

/// Refuses destinations that cannot be written, before all rows are read.
fn check_destinations(arguments: &Arguments, report: &Path, shards: &[Found]) -> Result<()> {
    let named = [
        ("--output", arguments.output.as_deref()),
        ("--report", Some(report)),
    ];
    for (option, path) in named {
        let Some(path) = path else { continue };
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let has_folder = parent.is_dir();
        if path.is_dir() || path.file_name().is_none() || !has_folder {
            bail!(UsageError::new(format_args!(
                "{option} {}: is no file in an existing folder; name one",
                path.display()
            )));
        }
        let parent = fs::canonicalize(parent).with_context(|| parent.display().to_string())?;
        let within = |shard: &Found| {
            fs::canonicalize(&shard.folder).is_ok_and(|own| parent.starts_with(own))
        };
        if shards.iter().any(within) {
            bail!(UsageError::new(format_args!(
                "{option} {}: is in the folder of a shard, which merge does not change; name a file in another one",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Lists the shards in the folders.
fn survey(folders: &[PathBuf]) -> Result<Survey> {
    let mut survey = Survey::default();
    for folder in folders {
        let wrong = |error: io::Error| {
            let why = system_message(&error);
            UsageError::new(format_args!(
                "{}: {why}; name a folder of fetch --into",
                folder.display()
            ))
        };
        let entries = fs::read_dir(folder).map_err(wrong)?;
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(wrong)?.path();
            if path.is_dir() {
                paths.push(path);
            }
        }
        // So that messages and rows have the same order everywhere.
        paths.sort();
        for path in paths {
            survey.add(path);
        }
    }
    survey.done.sort_by_key(|found| found.fetched.number);
    Ok(survey)
}

impl Survey {
    fn add(&mut self, folder: PathBuf) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if let Some((number, _)) = shard_in(&name).filter(|_| name.starts_with('.')) {
            self.begun.insert(number, folder);
            return;
        }
        if let Some((number, _)) = name.strip_prefix(REST).and_then(shard_in) {
            self.rests.entry(number).or_default().push(folder);
            return;
        }
        let is_shard = folder.join(manifest::SHARD_FILE).exists() || shard_in(&name).is_some();
        if !is_shard {
            return;
        }
        match Fetched::read(&folder) {
            Ok(fetched) => self.done.push(Found { folder, fetched }),
            Err(why) => self.problems.push(format!(
                "{}: {why}; remove the folder and fetch the shard again",
                folder.display()
            )),
        }
    }

    /// Checks that all shards of this list are there, each once, with what was left of divided ones. The folder is that of a shard of the
    /// list; without one, none is done.
    fn check_together(&mut self, first: Option<(PathBuf, Division)>) -> Result<()> {
        let Some((folder, division)) = first else {
            for (number, folder) in &self.begun {
                self.problems.push(unfinished(*number, folder));
            }
            return Ok(());
        };
        let (mut found, of) = (BTreeMap::new(), division.of);
        for shard in &self.done {
            if !shard.fetched.division.is_same(&division) {
                self.problems.push(difference(&folder, &division, shard));
            } else if let Some(earlier) = found.insert(shard.fetched.number, &shard.folder) {
                self.problems.push(format!(
                    "{}: shard {} of {of} is in {}, too; move one of the two away",
                    shard.folder.display(),
                    shard.fetched.number,
                    earlier.display()
                ));
            }
        }
        for number in (1..=of).filter(|number| !found.contains_key(number)) {
            self.problems.push(match self.begun.get(&number) {
                Some(folder) => unfinished(number, folder),
                None => format!(
                    "shard {number} of {of} is missing; fetch it with --shard {number}/{of}"
                ),
            });
        }
        let divided: Vec<_> = self.done.iter().filter_map(Found::divided).collect();
        for (number, folder, rest) in divided {
            self.add_rest(number, folder, rest)?;
        }
        Ok(())
    }

    /// Adds the shards of what was left of a divided shard.
    fn add_rest(&mut self, number: u32, folder: PathBuf, rest: Division) -> Result<()> {
        let Some(folders) = self.rests.get(&number) else {
            self.problems.push(format!(
                "{}: {} URLs of the divided shard are missing; copy {REST}{} next to it",
                folder.display(),
                thousands(rest.list.urls),
                folder.file_name().unwrap_or_default().to_string_lossy()
            ));
            return Ok(());
        };
        let mut inner = survey(folders)?;
        inner.check_together(Some((folder, rest)))?;
        let at = folders[0].display();
        let named = inner.problems.into_iter().map(|problem| {
            if problem.starts_with("shard ") {
                format!("{at}: {problem} --from {at} --into {at}")
            } else {
                problem
            }
        });
        self.problems.extend(named);
        self.done.append(&mut inner.done);
        Ok(())
    }
}

fn unfinished(number: u32, folder: &Path) -> String {
    format!(
        "{}: shard {number} is not done; give its command again, which continues it",
        folder.display()
    )
}

/// Says in what two shards differ.
fn difference(first: &Path, a: &Division, other: &Found) -> String {
    let b = &other.fetched.division;
    let what = if a.list != b.list {
        format!(
            "is of another list ({} URLs, SHA-256 {:.12}) than {} ({} URLs, SHA-256 {:.12})",
            thousands(b.list.urls),
            b.list.sha256,
            first.display(),
            thousands(a.list.urls),
            a.list.sha256
        )
    } else if a.of != b.of {
        format!(
            "is one of {} shards, {} one of {}",
            b.of,
            first.display(),
            a.of
        )
    } else if a.seed != b.seed {
        format!(
            "has the seed {}, {} the seed {}",
            b.seed,
            first.display(),
            a.seed
        )
    } else {
        format!(
            "was chosen by another rule ({}) than {} ({})",
            b.rule,
            first.display(),
            a.rule
        )
    };
    format!(
        "{}: {what}; move it away, and fetch the shard of the same list",
        other.folder.display()
    )
}

/// The merge while shards are added.
struct Merge {
    figures: Figures,
    /// Reports of all starts.
    sums: Sums,
    fingerprint: Fingerprint,
    urls: u64,
    form: Option<(Form, bool)>,
    copy: Copy,
}

/// The file of all rows, under a hidden name until it is complete.
struct Copy {
    file: Option<(BufWriter<File>, PathBuf, PathBuf)>,
}

impl Merge {
    fn new(output: Option<&Path>, shards: &[Found]) -> Result<Self> {
        let file = match output {
            None => None,
            Some(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let part = path.with_file_name(format!(".{name}.part"));
                let file =
                    File::create(&part).with_context(|| format!("--output {}", path.display()))?;
                Some((
                    BufWriter::with_capacity(256 << 10, file),
                    part,
                    path.to_owned(),
                ))
            }
        };
        let mut copy = Copy { file };
        let form = shards
            .first()
            .map(|first| (first.fetched.rows.format, first.fetched.rows.column_names));
        if let Some((_, true)) = form {
            copy.write_all(COLUMN_NAMES)?;
        }
        Ok(Self {
            figures: Figures::default(),
            sums: Sums::default(),
            fingerprint: Fingerprint::default(),
            urls: 0,
            form,
            copy,
        })
    }

    /// Checks the files of a shard and adds it; the inner error is the problem to print.
    fn add(&mut self, found: &Found) -> Result<Result<(), String>> {
        let Found { folder, fetched } = found;
        let Rows {
            stored,
            format,
            column_names,
        } = &fetched.rows;
        let wrong = |file: &str, why: &str| {
            let shard = fetched.number;
            Ok(Err(format!(
                "{}: {why}; restore it, or remove the folder and fetch shard {shard} again",
                folder.join(file).display()
            )))
        };
        if self.copy.file.is_some() && self.form != Some((*format, *column_names)) {
            return wrong(
                &stored.file,
                "its rows have another format than those of the first shard",
            );
        }
        let before = (self.figures.rows, self.figures.fingerprint);
        let rows = match File::open(folder.join(&stored.file)) {
            Ok(file) => BufReader::with_capacity(256 << 10, file),
            Err(error) => return wrong(&stored.file, &system_message(&error)),
        };
        let extent = match self.figures.add(rows, *format, &mut self.copy) {
            Ok(extent) => extent,
            Err(Failed::Read(error)) => return wrong(&stored.file, &system_message(&error)),
            Err(Failed::Write(error)) => return Err(error).context("--output"),
            Err(Failed::Line(number)) => {
                return wrong(
                    &stored.file,
                    &format!("line {number} is not a row: the file is damaged"),
                );
            }
        };
        if (extent.bytes, Some(&extent.sha256)) != (stored.bytes, stored.sha256.as_ref()) {
            return wrong(
                &stored.file,
                "the file was changed after the shard was done",
            );
        }
        let rows = self.figures.rows - before.0;
        let expected = before.1.with(fetched.lines.fingerprint);
        if (rows, self.figures.fingerprint) != (fetched.lines.urls, expected) {
            return wrong(
                &stored.file,
                &format!(
                    "has {rows} rows that are not those of the {} URLs of the shard",
                    fetched.lines.urls
                ),
            );
        }
        self.urls += fetched.lines.urls;
        self.fingerprint = self.fingerprint.with(fetched.lines.fingerprint);
        for file in &fetched.files {
            if let Err(why) = check_file(folder, file) {
                return wrong(&file.file, &why);
            }
            if is_report(&file.file) {
                match fs::read(folder.join(&file.file)) {
                    Ok(text) => self.sums.add(&text),
                    Err(error) => return wrong(&file.file, &system_message(&error)),
                }
            }
        }
        Ok(Ok(()))
    }

    /// Checks that all shards together are the list; returns the problem to print.
    fn check(&self, first: &Fetched) -> Option<String> {
        let list = &first.division.list;
        if (self.urls, self.fingerprint) == (list.urls, list.fingerprint) {
            return None;
        }
        Some(format!(
            "the shards have {} URLs, their list {}, or other ones: versions of httpdyno with different public suffix lists chose them; split the list, and fetch with --from",
            thousands(self.urls),
            thousands(list.urls)
        ))
    }

    fn publish(&mut self) -> Result<()> {
        let Some((mut writer, part, path)) = self.copy.file.take() else {
            return Ok(());
        };
        let mut publish = || -> io::Result<()> {
            writer.flush()?;
            writer.get_ref().sync_all()?;
            fs::rename(&part, &path)
        };
        publish().with_context(|| format!("--output {}", path.display()))
    }
}

impl Write for Copy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some((writer, ..)) => writer.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Some((writer, ..)) => writer.flush(),
            None => Ok(()),
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some((_, part, _)) = &self.file {
            fs::remove_file(part).ok();
        }
    }
}

/// Checks the length of a file, and its digest if the manifest has one.
fn check_file(folder: &Path, expected: &Stored) -> Result<(), String> {
    let stored = examine(folder, &expected.file, expected.sha256.is_some());
    match stored {
        Ok(stored) if stored == *expected => Ok(()),
        Ok(_) => Err("the file was changed after the shard was done".to_owned()),
        Err(error) => Err(system_message(&error)),
    }
}
