// Starts Firefox with a profile of its own, which trusts what Node trusts and requests nothing by itself.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";

import puppeteer from "puppeteer-core";

export async function startBrowser(settings) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "node-puppeteer-firefox-"));
  trust(process.env.NODE_EXTRA_CA_CERTS, home);
  hideDocuments(home);
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: onPath("firefox-esr"),
    // With the second variable, Firefox honours the preference services.settings.server.
    env: { ...process.env, HOME: home, MOZ_REMOTE_SETTINGS_DEVTOOLS: "1" },
    userDataDir: home,
    // A signal ends this process, and so the browser: see main.js.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    // The tabs subscribe to the events that they need.
    networkEnabled: false,
    defaultViewport: null,
    extraPrefsFirefox: preferences(settings),
  });
  // Content that is not a document would be written to the disk.
  await browser.connection.send("browser.setDownloadBehavior", { downloadBehavior: { type: "denied" } });
  // After Puppeteer's own listener, which ends the browser.
  process.on("exit", () => fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  return browser;
}

function preferences(settings) {
  return {
    // A URL that comes twice is fetched twice, and no document is cached for going back.
    "browser.cache.disk.enable": false,
    "browser.cache.memory.enable": false,
    "browser.sessionhistory.max_total_viewers": 0,
    // http is not upgraded to https.
    "dom.security.https_first": false,
    "dom.security.https_first_schemeless": false,
    // Firefox alone would follow twenty.
    "network.http.redirection-limit": 10,
    // Only the document counts: no script, icon, prefetched name, or document that replaces it by itself.
    "accessibility.blockautorefresh": true,
    "javascript.enabled": false,
    "browser.chrome.site_icons": false,
    "network.dns.disablePrefetch": true,
    "network.prefetch-next": false,
    "network.preload": false,
    // The name server of the machine, and no request of the browser's own; Puppeteer disables further ones.
    "network.trr.mode": 5,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
    "app.update.enabled": false,
    "toolkit.telemetry.enabled": false,
    "toolkit.telemetry.unified": false,
    "toolkit.telemetry.server": "",
    "browser.region.network.url": "",
    "browser.region.update.enabled": false,
    "browser.safebrowsing.provider.mozilla.updateURL": "",
    "dom.push.enabled": false,
    "extensions.systemAddon.update.enabled": false,
    "messaging-system.rsexperimentloader.enabled": false,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "security.OCSP.enabled": 0,
    ...(settings.userAgent ? { "general.useragent.override": settings.userAgent } : {}),
    ...(settings.httpVersion === "1.1" ? { "network.http.http2.enabled": false } : {}),
  };
}

// Documents are not displayed: layout of a text of megabytes would take seconds.
function hideDocuments(profile) {
  fs.mkdirSync(path.join(profile, "chrome"));
  fs.writeFileSync(path.join(profile, "chrome", "userContent.css"), "html { display: none !important }\n");
}

// Adds authorities to the NSS database of the profile; Firefox's own list stays.
function trust(bundle, profile) {
  if (!bundle) return;
  const certutil = (...args) => execFileSync("certutil", ["-d", `sql:${profile}`, ...args]);
  certutil("-N", "--empty-password");
  const certificate = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;
  fs.readFileSync(bundle, "latin1").match(certificate)?.forEach((certificate, number) => {
    const file = path.join(profile, "authority.pem");
    fs.writeFileSync(file, certificate);
    certutil("-A", "-a", "-n", `authority ${number}`, "-t", "C,,", "-i", file);
  });
}

function onPath(program) {
  const folder = process.env.PATH.split(path.delimiter).find((folder) => fs.existsSync(path.join(folder, program)));
  if (!folder) throw new Error(`no ${program} on the path`);
  return path.join(folder, program);
}
