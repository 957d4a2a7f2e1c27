// One tab: opens one URL at a time and returns the outcome of its main document.
import fs from "node:fs";

const maxRedirects = 10;
// A tab keeps some memory of each document: after this number of URLs another tab replaces it.
const urlsPerTab = 50;

// Puppeteer's own events are those of a whole page; the events of one document come from Chromium's protocol.
export class Tab {
  // False once the tab must not be used again.
  isFresh = true;

  #page;
  #session;
  #frame;
  #ignoreDownloads = () => {};
  #urls = 0;
  #visit = { isOver: true };

  static async open({ browser, downloads }) {
    const page = await browser.newPage();
    const tab = new Tab();
    tab.#listen(downloads);
    tab.#page = page;
    const session = (tab.#session = await page.createCDPSession());
    // The document is not displayed: without this, Chromium would lay out a text of megabytes again with each piece.
    await page.evaluateOnNewDocument(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("html { display: none !important }");
      document.adoptedStyleSheets = [sheet];
    });
    // A URL that comes twice is fetched twice.
    await page.setCacheEnabled(false);
    // Only the document counts. Its subresource requests never leave the tab's own process. Requests for documents
    // within it come from elsewhere, and are refused one by one.
    await session.send("Network.enable");
    await session.send("Network.setBlockedURLs", { urls: ["*"] });
    const patterns = ["Request", "Response"].map((requestStage) => ({ resourceType: "Document", requestStage }));
    await session.send("Fetch.enable", { patterns });
    tab.#frame = (await session.send("Page.getFrameTree")).frameTree.frame.id;
    session.on("Fetch.requestPaused", (event) => {
      if (event.responseStatusCode || event.responseErrorReason) tab.#answer(event);
      else tab.#decide(event);
    });
    session.on("Network.requestWillBeSent", ({ requestId, redirectResponse }) => tab.#note(requestId, redirectResponse));
    session.on("Network.responseReceived", ({ requestId, response }) => tab.#note(requestId, response));
    session.on("Network.dataReceived", ({ requestId, dataLength }) => {
      if (requestId === tab.#visit.request) tab.#visit.bodyLength += dataLength;
    });
    session.on("Network.loadingFinished", ({ requestId }) => tab.#end(requestId));
    session.on("Network.loadingFailed", ({ requestId, errorText }) => {
      // A navigation that is aborted may be a download: its own result says so.
      if (errorText !== "net::ERR_ABORTED" || tab.#visit.isShown) tab.#end(requestId, errorText);
    });
    return tab;
  }

  // The final status, whether all answers came over HTTP/2, and the bytes of the document after decoding, once it is
  // read to its end.
  open(url) {
    this.#urls += 1;
    if (this.#visit.file) fs.rmSync(this.#visit.file, { force: true });
    if (this.#urls >= urlsPerTab) this.isFresh = false;
    return new Promise((resolve, reject) => {
      const outcome = { status: undefined, isHTTP2: true, bodyLength: 0 };
      const visit = { request: undefined, redirects: 0, ...outcome, isOver: false, resolve, reject };
      this.#visit = visit;
      this.#session.send("Page.navigate", { url }).then(({ errorText, isDownload }) => {
        if (!errorText) visit.isShown = true;
        else if (!isDownload) this.#end(visit.request, errorText);
      }, reject);
    });
  }

  // The document that was opened last, as text.
  async content() {
    if (this.#visit.file) return fs.readFileSync(this.#visit.file, "utf8");
    const { body, base64Encoded } = await this.#session.send("Network.getResponseBody", { requestId: this.#visit.request });
    return base64Encoded ? Buffer.from(body, "base64").toString() : body;
  }

  close() {
    this.isFresh = false;
    this.#ignoreDownloads();
    this.#page.close().catch(() => {});
  }

  #decide({ requestId, frameId, networkId, redirectedRequestId }) {
    const visit = this.#visit;
    let isWanted = frameId === this.#frame && !visit.isOver;
    if (isWanted) visit.request = networkId;
    // Chromium alone would follow twenty.
    if (isWanted && redirectedRequestId && ++visit.redirects > maxRedirects) {
      isWanted = false;
      this.#end(networkId, "TooManyRedirects");
    }
    const decision = isWanted
      ? this.#session.send("Fetch.continueRequest", { requestId })
      : this.#session.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" });
    decision.catch(() => {}); // the tab was closed meanwhile
  }

  // Content that Chromium does not display is a download.
  #listen(downloads) {
    const begin = ({ frameId, guid }) => {
      if (frameId === this.#frame && !this.#visit.isOver) this.#visit.download = guid;
    };
    const progress = ({ guid, state, receivedBytes, filePath }) => {
      const visit = this.#visit;
      if (guid !== visit.download || state === "inProgress") return;
      visit.bodyLength = receivedBytes;
      visit.file = filePath;
      this.#end(visit.request, state === "completed" ? undefined : "DownloadFailed");
    };
    downloads.on("Browser.downloadWillBegin", begin);
    downloads.on("Browser.downloadProgress", progress);
    this.#ignoreDownloads = () => {
      downloads.off("Browser.downloadWillBegin", begin);
      downloads.off("Browser.downloadProgress", progress);
    };
  }

  // Of an answer that causes no navigation, such as a 304, there may be no other event.
  #answer({ requestId, networkId, responseStatusCode }) {
    if (networkId === this.#visit.request && responseStatusCode) this.#visit.status = responseStatusCode;
    this.#session.send("Fetch.continueRequest", { requestId }).catch(() => {}); // the tab was closed meanwhile
  }

  #note(request, response) {
    if (request !== this.#visit.request || !response) return;
    this.#visit.status = response.status;
    this.#visit.isHTTP2 &&= response.protocol === "h2";
  }

  #end(request, errorText) {
    const visit = this.#visit;
    if (request !== visit.request || visit.isOver) return;
    visit.isOver = true;
    // An answer without content causes no navigation, which Chromium reports as aborted.
    const isWhole = !errorText || [204, 205, 304].includes(visit.status);
    if (isWhole) visit.resolve(visit);
    else visit.reject(new Error(errorText));
  }
}
