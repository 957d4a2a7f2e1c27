//! Where a web comes from: the ones built in, or a file.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use dyno_web::{Model, Web};

/// The webs that ship with the engine, so that a name is enough.
const BUILT_IN: [(&str, &str); 3] = [
    ("top-sites", include_str!("../../../webs/top-sites.toml")),
    ("plain", include_str!("../../../webs/plain.toml")),
    ("contract", include_str!("../../../webs/contract.toml")),
];

/// Which web, of which seed.
#[derive(Debug, Clone, Args)]
pub struct WebArguments {
    /// A built-in web (top-sites, plain, contract) or a TOML file
    #[arg(long, value_name = "WEB", default_value = "top-sites")]
    pub web: String,
    /// The seed that every answer follows from, instead of the web's own
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

impl WebArguments {
    /// Reads the model and makes the web.
    pub fn load(&self) -> Result<Web> {
        let built_in = BUILT_IN
            .iter()
            .find(|(name, _)| *name == self.web)
            .map(|(_, text)| (*text).to_owned());
        let text = match built_in {
            Some(text) => text,
            None => self.read()?,
        };
        let model = Model::from_toml(&text).map_err(|error| anyhow!("{}: {error}", self.web))?;
        Ok(Web::new(model, self.seed))
    }

    fn read(&self) -> Result<String> {
        let names = BUILT_IN.map(|(name, _)| name).join(", ");
        if !Path::new(&self.web).exists() {
            return Err(anyhow!(
                "--web {}: no such file, and not one of the built-in webs ({names})",
                self.web
            ));
        }
        std::fs::read_to_string(&self.web).with_context(|| format!("--web {}", self.web))
    }
}
