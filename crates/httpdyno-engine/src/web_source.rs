//! The source of a web: a built-in name or a file.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use dyno_web::{Model, Web};

use crate::messages::UsageError;

/// The webs that ship with the engine.
const BUILT_IN: [(&str, &str); 5] = [
    (
        "top-sites",
        include_str!("../../dyno-web/webs/top-sites.toml"),
    ),
    ("plain", include_str!("../../dyno-web/webs/plain.toml")),
    (
        "contract",
        include_str!("../../dyno-web/webs/contract.toml"),
    ),
    (
        "wrong-documents",
        include_str!("../../dyno-web/webs/wrong-documents.toml"),
    ),
    ("wild", include_str!("../../dyno-web/webs/wild.toml")),
];

/// A web and its seed.
#[derive(Debug, Clone, Args)]
pub struct WebArguments {
    /// A built-in web (top-sites, plain, contract, wrong-documents, wild) or a TOML file
    #[arg(long, value_name = "WEB", default_value = "top-sites")]
    pub web: String,
    /// Seed of every answer, instead of the web's own
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

impl WebArguments {
    /// Reads the model and creates the web; an invalid model is a usage error.
    pub fn load(&self) -> Result<Web> {
        let built_in = BUILT_IN
            .iter()
            .find(|(name, _)| *name == self.web)
            .map(|(_, text)| (*text).to_owned());
        let text = match built_in {
            Some(text) => text,
            None => self.read()?,
        };
        let model = Model::from_toml(&text).map_err(|error| {
            UsageError::new(format_args!(
                "--web {}: {error}; correct the file",
                self.web
            ))
        })?;
        Ok(Web::new(model, self.seed))
    }

    fn read(&self) -> Result<String, UsageError> {
        let names = BUILT_IN.map(|(name, _)| name).join(", ");
        if !Path::new(&self.web).exists() {
            return Err(UsageError::new(format_args!(
                "--web {}: there is no such file or web; webs are {names}, or the path of a TOML file",
                self.web
            )));
        }
        std::fs::read_to_string(&self.web).map_err(|error| {
            UsageError::new(format_args!(
                "--web {}: {error}; name another file",
                self.web
            ))
        })
    }
}
