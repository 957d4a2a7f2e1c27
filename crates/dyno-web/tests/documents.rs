//! The document shipped with each server subject: that of `/json` in every web.

use std::fs;
use std::path::Path;

use dyno_web::JSON_DOCUMENT;

#[test]
fn every_server_ships_the_document_of_the_webs() {
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/servers");
    let mut seen = 0;
    for folder in fs::read_dir(servers).unwrap() {
        let folder = folder.unwrap().path();
        if folder.join("subject.toml").is_file() {
            let shipped = fs::read_to_string(folder.join("document.json")).unwrap();
            assert!(shipped == *JSON_DOCUMENT, "{}", folder.display());
            seen += 1;
        }
    }
    assert!(seen > 0);
}
