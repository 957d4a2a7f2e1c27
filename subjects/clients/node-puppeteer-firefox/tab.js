// One tab: opens one URL at a time and returns the outcome of its main document.

// Answers that cause no navigation, which Firefox reports as aborted.
const withoutContent = [204, 205, 304];
// A tab keeps some memory of each document: after this number of URLs another tab replaces it.
const urlsPerTab = 50;

// Puppeteer's own requests have no length of content; the events of WebDriver BiDi do.
export class Tab {
  // False once the tab must not be used again.
  isFresh = true;

  #connection;
  #context;
  #urls = 0;
  #visit = { isOver: true };
  #listeners = {
    "network.beforeRequestSent": (event) => this.#decide(event),
    "network.responseStarted": (event) => this.#isOfVisit(event) && this.#note(event.response),
    "network.responseCompleted": (event) => this.#isOfVisit(event) && this.#complete(event.response),
    "network.fetchError": (event) => this.#isOfVisit(event) && this.#fail(event.errorText),
  };

  static async open(browser) {
    const tab = new Tab();
    tab.#connection = browser.connection;
    const { context } = await tab.#send("browsingContext.create", { type: "tab", background: true });
    tab.#context = context;
    // Only the document counts: all other requests of the tab are refused one by one.
    await tab.#send("network.addIntercept", { phases: ["beforeRequestSent"], contexts: [context] });
    for (const [event, act] of Object.entries(tab.#listeners)) tab.#connection.on(event, act);
    await tab.#send("session.subscribe", {
      events: Object.keys(tab.#listeners),
      contexts: [context],
    });
    return tab;
  }

  // The final status, whether all answers came over HTTP/2, and the bytes of the document after decoding, once it is
  // read to its end.
  async open(url) {
    this.#urls += 1;
    if (this.#urls >= urlsPerTab) this.isFresh = false;
    const visit = await new Promise((resolve, reject) => {
      const visit = { isHTTP2: true, isShown: false, isComplete: false, isOver: false, resolve, reject };
      this.#visit = visit;
      this.#send("browsingContext.navigate", { context: this.#context, url, wait: "none" }).then(
        () => {
          visit.isShown = true;
          this.#endIfWhole(visit);
        },
        // Of a request that was never sent, such as one to a forbidden port, there is no event.
        ({ message }) => visit === this.#visit && this.#fail(/Error: (\w+)/.exec(message)?.[1] ?? message),
      );
    });
    // The length of an answer is that before decoding.
    if (visit.isEncoded) visit.bodyLength = (await this.#bytes()).length;
    return visit;
  }

  // The document that was opened last, as text.
  async content() {
    return (await this.#bytes()).toString();
  }

  close() {
    this.isFresh = false;
    for (const [event, act] of Object.entries(this.#listeners)) this.#connection.off(event, act);
    this.#send("browsingContext.close", { context: this.#context }).catch(() => {});
  }

  async #bytes() {
    const { bytes } = await this.#send("network.getData", { dataType: "response", request: this.#visit.request });
    return Buffer.from(bytes.value, bytes.type === "base64" ? "base64" : "utf8");
  }

  async #send(method, parameters) {
    return (await this.#connection.send(method, parameters)).result;
  }

  #isOfVisit({ context, request: { request } }) {
    return context === this.#context && request === this.#visit.request;
  }

  // A request of the visit continues, a redirect too; others are refused, also those of documents within this one.
  #decide({ context, isBlocked, navigation, request: { request } }) {
    if (context !== this.#context || !isBlocked) return;
    const visit = this.#visit;
    if (navigation && !visit.isOver) visit.request ??= request;
    const isWanted = !visit.isOver && request === visit.request;
    if (isWanted) visit.isComplete = false;
    this.#send(isWanted ? "network.continueRequest" : "network.failRequest", { request }).catch(() => {});
  }

  #note({ status, protocol }) {
    this.#visit.status = status;
    this.#visit.isHTTP2 &&= protocol === "h2";
  }

  #complete({ bodySize, headers }) {
    const visit = this.#visit;
    visit.isComplete = true;
    visit.bodyLength = bodySize;
    visit.isEncoded = bodySize > 0 && headers.some(({ name }) => name.toLowerCase() === "content-encoding");
    this.#endIfWhole(visit);
  }

  // A redirect is complete, too, but shows no document.
  #endIfWhole(visit) {
    if (visit.isOver || !visit.isShown || !visit.isComplete) return;
    visit.isOver = true;
    visit.resolve(visit);
  }

  #fail(errorText) {
    const visit = this.#visit;
    if (visit.isOver) return;
    visit.isOver = true;
    if (withoutContent.includes(visit.status)) visit.resolve(Object.assign(visit, { bodyLength: 0 }));
    else visit.reject(new Error(errorText));
  }
}
