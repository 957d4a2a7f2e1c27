// Starts Chromium, with a home of its own, so that it trusts what Node trusts; returns it with the events of downloads.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";

import puppeteer from "puppeteer-core";

export async function startBrowser(settings) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "node-puppeteer-"));
  trust(process.env.NODE_EXTRA_CA_CERTS, home);
  const browser = await puppeteer.launch({
    // Puppeteer recommends the shell where speed matters. The shell opens only the requested URLs: Chromium with all
    // its parts also requests icons, updates and the time.
    headless: "shell",
    executablePath: onPath("chromium-headless-shell"),
    env: { ...process.env, HOME: home },
    // The browser ends with this process, in every case.
    pipe: true,
    // A signal ends this process, and so the browser: see main.js.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    args: [
      // Chromium refuses to run as root with its sandbox.
      ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
      ...(settings.userAgent ? [`--user-agent=${settings.userAgent}`] : []),
      ...(settings.httpVersion === "1.1" ? ["--disable-http2"] : []),
      // http is not upgraded to https, and no document is cached for going back.
      "--disable-features=HttpsUpgrades,BackForwardCache",
    ],
  });
  // After Puppeteer's own listener, which ends the browser.
  process.on("exit", () => fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  // Content that is not a document is written to the disk.
  const downloads = await browser.target().createCDPSession();
  const downloadPath = path.join(home, "downloads");
  await downloads.send("Browser.setDownloadBehavior", { behavior: "allowAndName", downloadPath, eventsEnabled: true });
  return { browser, downloads };
}

// Adds authorities to the NSS database, which Chromium reads on Linux; its own list stays.
function trust(bundle, home) {
  if (!bundle) return;
  const folder = path.join(home, ".pki", "nssdb");
  fs.mkdirSync(folder, { recursive: true });
  const certutil = (...args) => execFileSync("certutil", ["-d", `sql:${folder}`, ...args]);
  certutil("-N", "--empty-password");
  const certificates = fs.readFileSync(bundle, "latin1").match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g);
  certificates?.forEach((certificate, number) => {
    const file = path.join(home, "authority.pem");
    fs.writeFileSync(file, certificate);
    certutil("-A", "-a", "-n", `authority ${number}`, "-t", "C,,", "-i", file);
  });
}

function onPath(program) {
  const folder = process.env.PATH.split(path.delimiter).find((folder) => fs.existsSync(path.join(folder, program)));
  if (!folder) throw new Error(`no ${program} on the path`);
  return path.join(folder, program);
}
