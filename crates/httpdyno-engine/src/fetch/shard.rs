//! The shard of a list that `fetch` is called for, and the folder that it goes to.

use std::os::fd::OwnedFd;

use anyhow::Result;
use dyno_fetch::Share;

use super::arguments::{Arguments, Format};
use crate::messages::print_message;
use crate::shards::folder::{Begun, ShardFolder, Source, check_name};
use crate::shards::manifest::Form;

/// What a crawl takes of its list; all of it without `--shard`.
#[derive(Debug, Default)]
pub struct ShardOfList {
    /// The shard.
    pub share: Option<Share>,
    /// The list; `None`: standard input.
    pub list: Option<OwnedFd>,
    /// The folder of `--into`.
    pub folder: Option<Box<ShardFolder>>,
}

/// Begins or continues the shard; with `--into` the crawl's files are in its folder. `None`: it is done already.
pub fn begin(arguments: &mut Arguments) -> Result<Option<ShardOfList>> {
    let Some(choice) = arguments.shard else {
        return Ok(Some(ShardOfList::default()));
    };
    let source = Source::new(choice, arguments.shard_seed, arguments.from.as_deref())?;
    let (share, list) = (Some(source.share()), source.list()?);
    let Some(into) = &arguments.into else {
        return Ok(Some(ShardOfList {
            share,
            list,
            folder: None,
        }));
    };
    let mut inside = [
        ("--save", &mut arguments.save),
        ("--warc", &mut arguments.warc),
    ];
    for (option, name) in &inside {
        if let Some(name) = name {
            check_name(option, name)?;
        }
    }
    let form = match arguments.format {
        Format::Csv => Form::Csv,
        Format::Contract => Form::Contract,
        Format::Jsonl | Format::Parquet => Form::Jsonl,
    };
    let folder = match ShardFolder::begin(source, into, form)? {
        Begun::Open(folder) => folder,
        Begun::Done(path, rest) => {
            if !arguments.quiet {
                let rest = rest.map_or_else(String::new, |rest| {
                    format!("; its other URLs are in {}", rest.display())
                });
                print_message(format_args!("{}: this shard is done{rest}", path.display()));
            }
            return Ok(None);
        }
    };
    for (_, name) in &mut inside {
        **name = name.as_deref().map(|name| folder.place(name));
    }
    let paths = folder.paths();
    arguments.output = Some(paths.rows);
    arguments.resume = Some(paths.journal);
    arguments.report = Some(paths.report);
    Ok(Some(ShardOfList {
        share,
        list,
        folder: Some(folder),
    }))
}
