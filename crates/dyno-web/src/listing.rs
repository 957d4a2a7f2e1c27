//! The URLs that a web lists.

use crate::draw::Kind;
use crate::model::HostEntry;
use crate::name;
use crate::web::Web;

impl Web {
    /// The listed URLs in order: made-up hosts, practically without end, and `[[host]]` entries, once each or by their share.
    pub fn urls(&self) -> impl Iterator<Item = String> + '_ {
        let hosts = self.model.urls.hosts;
        let entries = self
            .model
            .hosts
            .iter()
            .filter(move |_| hosts == 0)
            .map(|entry| self.listed(entry));
        entries.chain((0..hosts).map(|index| self.drawn_url(index)))
    }

    fn listed(&self, entry: &HostEntry) -> String {
        entry
            .url
            .clone()
            .unwrap_or_else(|| self.url_of(&entry.name))
    }

    fn url_of(&self, host: &str) -> String {
        format!(
            "{}://{host}{}",
            self.model.urls.scheme.name(),
            self.model.urls.path
        )
    }

    fn drawn_url(&self, index: u64) -> String {
        let mut shares = self
            .model
            .hosts
            .iter()
            .filter_map(|entry| Some((entry, entry.share?)))
            .peekable();
        if shares.peek().is_some() {
            let draws = self.key.draws(Kind::Listing, "", &index.to_string());
            let mut place = draws.share(1);
            for (entry, share) in shares {
                if place < share.0 {
                    return self.listed(entry);
                }
                place -= share.0;
            }
        }
        self.url_of(&name::name(&self.key, index))
    }
}
