//! The folder of a fetched shard: it has a hidden name until the shard is done, and then appears with its manifest.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use dyno_fetch::{Finished, Lines, LinesDigest, ListReader, Report, ResumeError, Shard, Share};

use super::choice::Choice;
use super::manifest::{
    self, Division, Fetched, Form, Rows, SHARD_FILE, Split, SplitShard, Stored, examine, is_report,
    is_unfinished, report_name,
};
use super::rows::{Failed, Figures};
use super::split::split_rest;
use super::{locked, rest_name, shard_in, shard_name, sync_folder};
use crate::messages::{UsageError, print_message, system_message};
use crate::stop::received_signal;
use crate::table::thousands;

/// The journal of a shard.
const JOURNAL: &str = "journal";
/// The index of saved contents.
const INDEX: &str = "index.jsonl";

/// The shard that a command fetches, and where its list comes from.
#[derive(Debug)]
pub struct Source {
    shard: Shard,
    /// The folder of `split`, its manifest, and the file of the shard.
    split: Option<(PathBuf, Split, SplitShard)>,
}

impl Source {
    /// Chooses the shard; reads the manifest of a split list.
    pub fn new(choice: Choice, seed: Option<u64>, from: Option<&Path>) -> Result<Self> {
        let variable = |name: &str| std::env::var(name).ok();
        let (number, of) = choice.resolve(variable).map_err(UsageError::new)?;
        let Some(folder) = from else {
            let seed = seed.unwrap_or_default();
            let shard = Shard { number, of, seed };
            return Ok(Self { shard, split: None });
        };
        let wrong =
            |why: String| UsageError::new(format_args!("--from {}: {why}", folder.display()));
        if seed.is_some() {
            bail!(UsageError::new(
                "--shard-seed conflicts with --from: the list is split already; leave it out"
            ));
        }
        let split = Split::read(folder).map_err(|why| {
            wrong(format!(
                "{why}; name a folder that httpdyno split has written"
            ))
        })?;
        if split.division.of != of {
            let has = split.division.of;
            bail!(wrong(format!(
                "has {has} {}, and --shard has {of}; write --shard {}",
                if has == 1 { "shard" } else { "shards" },
                choice.within(has)
            )));
        }
        let file = split.shards[number as usize - 1].clone();
        let seed = split.division.seed;
        Ok(Self {
            shard: Shard { number, of, seed },
            split: Some((folder.to_owned(), split, file)),
        })
    }

    /// What the crawl takes of its list.
    pub const fn share(&self) -> Share {
        Share {
            shard: self.shard,
            is_whole_list: self.split.is_none(),
        }
    }

    /// Opens the file of a split list, once its lines are those of the manifest; `None`: the list is standard input.
    pub fn list(&self) -> Result<Option<OwnedFd>> {
        let Some((folder, _, shard)) = &self.split else {
            return Ok(None);
        };
        let wrong = |why: &str| {
            UsageError::new(format_args!(
                "--from {}: {}: {why}; copy the folder again, or split the list again",
                folder.display(),
                shard.file
            ))
        };
        let path = folder.join(&shard.file);
        let opened = File::open(&path).and_then(|file| Ok((digest(&file)?, file)));
        // Lines are read again from the beginning.
        let (lines, _) = opened.map_err(|error| wrong(&system_message(&error)))?;
        if lines != shard.lines {
            bail!(wrong("its lines are not those of split.json"));
        }
        let file = File::open(&path).map_err(|error| wrong(&system_message(&error)))?;
        Ok(Some(file.into()))
    }

    /// The whole list: that of the split, else the one that was read.
    fn division(&self, read: &Lines) -> Division {
        match &self.split {
            Some((_, split, _)) => split.division.clone(),
            None => Division::new(self.shard.seed, self.shard.of, read.clone()),
        }
    }
}

/// The number of shards of which a folder has one or is beginning one, if it is not this number.
fn other_number(into: &Path, of: u32) -> io::Result<Option<u32>> {
    let entries = match fs::read_dir(into) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        if let Some((_, found)) = shard_in(&entry?.file_name().to_string_lossy()) {
            return Ok(Some(found).filter(|found| *found != of));
        }
    }
    Ok(None)
}

fn as_mistake(error: ResumeError) -> anyhow::Error {
    if error.is_mistake() {
        UsageError::new(error).into()
    } else {
        error.into()
    }
}

fn digest(list: &File) -> io::Result<Lines> {
    let (mut reader, mut digest) = (ListReader::new(list), LinesDigest::default());
    while let Some(line) = reader.next_line()? {
        digest.add(&line);
    }
    Ok(digest.lines())
}

/// Refuses what is no name of a file or folder in the folder of a shard; `option` is for messages.
pub fn check_name(option: &str, name: &Path) -> Result<()> {
    let mut parts = name.components();
    let is_name = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    let rows = [Form::Csv, Form::Jsonl, Form::Contract].map(Form::file);
    let text = name.to_string_lossy();
    let is_own = [JOURNAL, SHARD_FILE].contains(&&*text)
        || rows.contains(&&*text)
        || is_report(&text)
        || is_unfinished(&text);
    if !is_name || is_own {
        bail!(UsageError::new(format_args!(
            "{option} {}: with --into it is a name in the folder of the shard, such as pages",
            name.display()
        )));
    }
    Ok(())
}

/// The folder of a shard that is being fetched.
#[derive(Debug)]
pub struct ShardFolder {
    source: Source,
    part: PathBuf,
    done: PathBuf,
    rows: Rows,
    /// Held until the process ends.
    _lock: File,
}

/// State of a shard when a command begins.
#[derive(Debug)]
pub enum Begun {
    /// It is to be fetched.
    Open(Box<ShardFolder>),
    /// An earlier command has fetched it, into this folder; with the folder of its other URLs if it was divided.
    Done(PathBuf, Option<PathBuf>),
}

/// The paths that a crawl writes to.
#[derive(Debug)]
pub struct Paths {
    /// File of the rows.
    pub rows: PathBuf,
    /// The journal.
    pub journal: PathBuf,
    /// The report of this start of the crawl.
    pub report: PathBuf,
}

impl ShardFolder {
    /// Creates the folder of a shard, or continues it.
    pub fn begin(source: Source, into: &Path, form: Form) -> Result<Begun> {
        let named = || format!("--into {}", into.display());
        let name = shard_name(source.shard.number, source.shard.of);
        let (part, done) = (into.join(format!(".{name}.part")), into.join(name));
        if done.join(SHARD_FILE).exists() {
            return Self::checked(&source, done);
        }
        if into.exists() && !into.is_dir() {
            bail!(UsageError::new(format_args!(
                "--into {}: is not a folder; name one",
                into.display()
            )));
        }
        if let Some(other) = other_number(into, source.shard.of).with_context(named)? {
            bail!(UsageError::new(format_args!(
                "--into {}: has a crawl in {other} shards, and --shard has {}; name another folder, or split the list into {other}",
                into.display(),
                source.shard.of
            )));
        }
        fs::create_dir_all(&part).with_context(named)?;
        let Some(lock) = locked(&part).with_context(named)? else {
            bail!(UsageError::new(format_args!(
                "--into {}: another httpdyno fetch has shard {} of {}; wait for its end",
                into.display(),
                source.shard.number,
                source.shard.of
            )));
        };
        // Another command may have finished it in between; then the lock is one of its folder.
        if done.join(SHARD_FILE).exists() {
            return Self::checked(&source, done);
        }
        let rows = Rows {
            stored: Stored {
                file: form.file().to_owned(),
                bytes: 0,
                sha256: None,
            },
            format: form,
            column_names: false,
        };
        let others = [Form::Csv, Form::Jsonl, Form::Contract];
        if let Some(other) = others
            .iter()
            .find(|other| **other != form && part.join(other.file()).exists())
        {
            bail!(UsageError::new(format_args!(
                "--format: shard {} was begun with {}; give the same format, or remove {}",
                source.shard.number,
                other.file(),
                part.display()
            )));
        }
        Ok(Begun::Open(Box::new(Self {
            source,
            part,
            done,
            rows,
            _lock: lock,
        })))
    }

    /// Checks that a finished shard is one of the list that was given now.
    fn checked(source: &Source, done: PathBuf) -> Result<Begun> {
        let wrong = |why: &str| UsageError::new(format_args!("{}: {why}", done.display()));
        let fetched = Fetched::read(&done).map_err(|why| wrong(&why))?;
        let list = match &source.split {
            Some((_, split, _)) => split.division.list.clone(),
            None => {
                digest(&File::from(rustix::io::dup(std::io::stdin())?)).context("standard input")?
            }
        };
        if !fetched.division.is_same(&source.division(&list)) {
            bail!(wrong(
                "this shard was fetched from another list, or with another seed; name another folder with --into"
            ));
        }
        let rest = rest_name(source.shard.number, source.shard.of);
        let rest = fetched.rest.map(|_| done.with_file_name(rest));
        Ok(Begun::Done(done, rest))
    }

    /// Where the crawl writes. Each start has a report of its own, so that none is lost.
    pub fn paths(&self) -> Paths {
        let reports = (1..).map(|number| self.part.join(report_name(number)));
        let mut unused = reports.filter(|path| !path.exists());
        Paths {
            rows: self.part.join(&self.rows.stored.file),
            journal: self.part.join(JOURNAL),
            report: unused.next().expect("numbers do not end"),
        }
    }

    /// Says how to continue a shard whose journal is of another list.
    pub fn another_list(&self) -> UsageError {
        UsageError::new(format_args!(
            "shard {} of {} was begun with other lines; begin it again as before, with the same --from or the same list on standard input, or remove {}",
            self.source.shard.number,
            self.source.shard.of,
            self.part.display()
        ))
    }

    /// Returns the place of a file or folder that the user named.
    pub fn place(&self, name: &Path) -> PathBuf {
        self.part.join(name)
    }

    /// Checks the rows of a finished crawl, writes the manifest, and gives the folder its name.
    pub fn publish(self, report: &Report, save: Option<&Path>, is_quiet: bool) -> Result<()> {
        let Some(selected) = &report.shard else {
            bail!("the crawl has no shard");
        };
        if self.source.split.is_none() && selected.list.urls == 0 {
            fs::remove_dir_all(&self.part).with_context(|| self.part.display().to_string())?;
            bail!(UsageError::new(
                "standard input: has no URLs; give the whole list: < urls.txt"
            ));
        }
        let division = self.source.division(&selected.list);
        let done = self.publish_lines(division, &selected.lines, None, save)?;
        if !is_quiet {
            print_message(done);
        }
        Ok(())
    }

    /// Publishes the finished lines of an ended crawl, and splits the other ones into shards in a folder of their own.
    ///
    /// Returns the exit status.
    pub fn divide(self, of: u32, save: Option<&Path>, is_quiet: bool) -> Result<u8> {
        let Some((folder, split, shard)) = &self.source.split else {
            bail!("the list of the crawl is not split");
        };
        let Paths { rows, journal, .. } = self.paths();
        let mut finished = Finished::open(&journal, &rows).map_err(as_mistake)?;
        let path = folder.join(&shard.file);
        let named = || path.display().to_string();
        let mut list = ListReader::new(File::open(&path).with_context(named)?);
        let (mut number, mut lines) = (0, LinesDigest::default());
        let rest_lines = || {
            while let Some(line) = list.next_line().with_context(named)? {
                number += 1;
                if !finished.has(number, &line).map_err(as_mistake)? {
                    return Ok(Some(line));
                }
                lines.add(&line);
            }
            Ok(None)
        };
        let Shard {
            number,
            of: shards,
            seed,
        } = self.source.shard;
        let rest_folder = self.done.with_file_name(rest_name(number, shards));
        // The hash of this seed has put all lines into this shard.
        let seed = seed.wrapping_add(1);
        let Some(rest) = split_rest(rest_lines, &rest_folder, of, seed)? else {
            return Ok(128 + received_signal().unwrap_or_default());
        };
        let (urls, division) = (rest.list.urls, split.division.clone());
        if urls == 0 {
            fs::remove_dir_all(&rest_folder).with_context(|| rest_folder.display().to_string())?;
        }
        let rest = Some(rest).filter(|_| urls > 0);
        let lines = lines.lines();
        let mut line = self.publish_lines(division, &lines, rest, save)?;
        if urls > 0 {
            line = format!(
                "shard {number} of {shards}: {} URLs are done, the other {} are split into {of} {}: {}",
                thousands(lines.urls),
                thousands(urls),
                if of == 1 { "shard" } else { "shards" },
                rest_folder.display()
            );
        }
        if !is_quiet {
            print_message(line);
        }
        Ok(0)
    }

    /// Publishes these lines; returns the message that says so.
    fn publish_lines(
        self,
        division: Division,
        lines: &Lines,
        rest: Option<Division>,
        save: Option<&Path>,
    ) -> Result<String> {
        let named = || self.part.display().to_string();
        let rows = self.checked_rows(lines)?;
        let files = self.files(save).with_context(named)?;
        let number = self.source.shard.number;
        let fetched = Fetched::new(division, number, lines.clone(), rows, files, rest);
        let publish = || -> io::Result<()> {
            manifest::write(&self.part.join(SHARD_FILE), &fetched)?;
            rustix::fs::syncfs(File::open(&self.part)?)?;
            fs::rename(&self.part, &self.done)?;
            sync_folder(self.done.parent().unwrap_or(Path::new(".")))
        };
        publish().with_context(named)?;
        // From here on the manifest says what is done.
        fs::remove_file(self.done.join(JOURNAL)).ok();
        Ok(format!(
            "shard {number} of {} is done: {}",
            self.source.shard.of,
            self.done.display()
        ))
    }

    /// The rows, once each line of the shard has one.
    fn checked_rows(&self, lines: &Lines) -> Result<Rows> {
        let path = self.part.join(&self.rows.stored.file);
        let mut figures = Figures::default();
        let file = File::open(&path).with_context(|| path.display().to_string())?;
        let reader = BufReader::with_capacity(256 << 10, file);
        let extent = match figures.add(reader, self.rows.format, &mut io::sink()) {
            Ok(extent) => extent,
            Err(Failed::Read(error) | Failed::Write(error)) => {
                return Err(error).with_context(|| path.display().to_string());
            }
            Err(Failed::Line(number)) => bail!(UsageError::new(format_args!(
                "{}: line {number} is not a row; remove {} to fetch the shard again",
                path.display(),
                self.part.display()
            ))),
        };
        if (figures.rows, figures.fingerprint) != (lines.urls, lines.fingerprint) {
            bail!(UsageError::new(format_args!(
                "{}: has {} rows for {} URLs of the list, which has changed since the shard was begun; give the same list, or remove {} to fetch the shard again",
                path.display(),
                figures.rows,
                lines.urls,
                self.part.display()
            )));
        }
        Ok(Rows {
            stored: Stored {
                bytes: extent.bytes,
                sha256: Some(extent.sha256),
                ..self.rows.stored.clone()
            },
            column_names: extent.column_names,
            ..self.rows.clone()
        })
    }

    /// All other files of the folder, and the index of contents. Digests of archives would take long to compute.
    fn files(&self, save: Option<&Path>) -> io::Result<Vec<Stored>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.part)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_own = [JOURNAL, SHARD_FILE, &self.rows.stored.file].contains(&name.as_str());
            if entry.file_type()?.is_file() && !is_own && !is_unfinished(&name) {
                names.push(name);
            }
        }
        if let Some(folder) = save.and_then(Path::file_name) {
            names.push(format!("{}/{INDEX}", folder.to_string_lossy()));
        }
        names.sort();
        let is_digested = |name: &str| is_report(name) || name.ends_with(INDEX);
        names
            .iter()
            .map(|name| examine(&self.part, name, is_digested(name)))
            .collect()
    }
}
