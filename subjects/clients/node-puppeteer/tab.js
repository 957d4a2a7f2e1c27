// One tab: opens one URL at a time and returns the outcome of its main document.

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
  #urls = 0;
  #visit = { isOver: true };

  static async open(browser) {
    const page = await browser.newPage();
    const tab = new Tab();
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
    await session.send("Fetch.enable", { patterns: [{ resourceType: "Document" }] });
    tab.#frame = (await session.send("Page.getFrameTree")).frameTree.frame.id;
    session.on("Fetch.requestPaused", (event) => tab.#decide(event));
    session.on("Network.responseReceived", ({ requestId, response }) => {
      if (requestId === tab.#visit.request) tab.#visit.status = response.status;
    });
    session.on("Network.dataReceived", ({ requestId, dataLength }) => {
      if (requestId === tab.#visit.request) tab.#visit.bodyLength += dataLength;
    });
    session.on("Network.loadingFinished", ({ requestId }) => tab.#end(requestId));
    session.on("Network.loadingFailed", ({ requestId, errorText }) => tab.#end(requestId, errorText));
    return tab;
  }

  // The final status and the bytes of the document after decoding, once it is read to its end.
  open(url) {
    this.#urls += 1;
    if (this.#urls >= urlsPerTab) this.isFresh = false;
    return new Promise((resolve, reject) => {
      const visit = { request: undefined, redirects: 0, status: undefined, bodyLength: 0, isOver: false, resolve, reject };
      this.#visit = visit;
      this.#session.send("Page.navigate", { url }).then(({ errorText }) => {
        if (errorText) this.#end(visit.request, errorText);
      }, reject);
    });
  }

  // The document that was opened last, as text.
  async content() {
    const { body, base64Encoded } = await this.#session.send("Network.getResponseBody", { requestId: this.#visit.request });
    return base64Encoded ? Buffer.from(body, "base64").toString() : body;
  }

  close() {
    this.isFresh = false;
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

  #end(request, errorText) {
    const visit = this.#visit;
    if (request !== visit.request || visit.isOver) return;
    visit.isOver = true;
    // An answer without content causes no navigation, which Chromium reports as aborted.
    const isWhole = !errorText || [204, 205].includes(visit.status);
    if (isWhole) visit.resolve(visit);
    else visit.reject(new Error(errorText));
  }
}
