// The matrix when it is used: groups unfold, filters choose rows and columns, keys move, a cell opens its evidence.
// The address holds the view. Texts of clients and servers become text nodes only.
"use strict";
{
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  const root = document.documentElement;
  const table = one("#matrix");
  const panel = one("#panel");
  const heads = all("thead th", table);
  const clients = heads.slice(1).map((head, place) => ({ head, place, id: head.dataset.client, name: head.textContent, ...head.dataset }));
  const groups = all("tr.group", table).map((row) => ({ row, id: row.dataset.group, cases: [] }));
  // Worst first. `finds` are the outcomes of the filter that find a mark.
  const MARKS = [
    ["u", "!", "unsafe"], ["r", "~!", "unsteady, unsafe in a try"], ["c", "C", "crash"], ["h", "H", "hang"], ["f", "F", "fail"],
    ["n", "~", "unsteady"], ["l", "L", "lenient"], ["p", "\u2713", "pass"], ["x", "\u2013", "unsupported"], ["", "", "not tried"],
  ].map(([code, symbol, words]) => ({ code, symbol, words, finds: code === "r" ? ["unsafe", "unsteady"] : [words] }));
  const rankOf = Object.fromEntries(MARKS.map((mark, rank) => [mark.code, rank]));
  const UNTRIED = MARKS.length - 1;
  const UNSUPPORTED = rankOf.x;
  const cases = all("tr.case", table).map((row) => {
    const cells = [...row.cells];
    const ranks = cells.slice(1).map((cell) => rankOf[cell.className.split(" ")[0]]);
    const title = one("th", row).firstChild.textContent.trim();
    const text = `${row.dataset.case} ${cells[0].textContent}`.toLowerCase();
    const found = { row, ranks, title, text, id: row.dataset.case, group: row.dataset.group, level: row.dataset.level };
    groups.find((group) => group.id === found.group).cases.push(found);
    return found;
  });
  const caseById = new Map(cases.map((found) => [found.id, found]));
  const clientById = new Map(clients.map((found) => [found.id, found]));

  // --- the view, and the address that holds it
  const FILTERS = ["client", "language", "group", "level", "outcome", "text"];
  const inputs = Object.fromEntries(all("[data-filter]").map((input) => [input.dataset.filter, input]));
  let open = new Set();
  let shown = { show: "", by: "" };
  let written = null;
  const write = () => {
    const parts = FILTERS.filter((name) => inputs[name].value).map((name) => [name, inputs[name].value]);
    const unfolded = groups.filter((group) => open.has(group.id)).map((group) => group.id);
    if (unfolded.length) parts.push(["open", unfolded.length === groups.length ? "all" : unfolded.join(",")]);
    for (const name of ["show", "by"]) if (shown[name]) parts.push([name, shown[name]]);
    written = parts.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2F|2C)/g, decodeURIComponent)}`).join("&");
    if (written === location.hash.slice(1)) return;
    try {
      history.replaceState(null, "", `#${written}`);
    } catch {
      location.replace(`#${written}`);
    }
  };
  const read = () => {
    if (written !== null && location.hash.slice(1) === written) return;
    const view = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
    for (const name of FILTERS) {
      const value = view.get(name) ?? "";
      const input = inputs[name];
      input.value = input.localName === "input" || [...input.options].some((option) => option.value === value) ? value : "";
    }
    const unfolded = (view.get("open") ?? "").split(",");
    open = new Set(groups.map((group) => group.id).filter((id) => unfolded[0] === "all" || unfolded.includes(id)));
    update();
    const found = caseById.get(view.get("show"));
    if (found) present(found, clientById.get(view.get("by")));
    else if (panel.open) panel.close();
    write();
  };

  // --- what is shown: filters choose rows and columns, and groups count what is left
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];
  let columns = clients;
  let rows = [];
  const narrowed = () => Boolean(inputs.group.value || inputs.outcome.value || inputs.text.value.trim());
  const update = () => {
    const value = Object.fromEntries(FILTERS.map((name) => [name, inputs[name].value]));
    const words = value.text.toLowerCase().split(/\s+/).filter(Boolean);
    const finds = MARKS.map((mark) => !value.outcome || mark.finds.includes(value.outcome));
    columns = clients.filter((client) => (!value.client || client.id === value.client) && (!value.language || client.language === value.language));
    const left = cases.filter((found) => (!value.group || found.group === value.group) && (!value.level || found.level === value.level)
      && words.every((word) => found.text.includes(word)) && (!value.outcome || columns.some(({ place }) => finds[found.ranks[place]])));
    if (value.outcome) columns = columns.filter(({ place }) => left.some((found) => finds[found.ranks[place]]));
    const kept = new Set(left);
    for (const group of groups) {
      const own = group.cases.filter((found) => kept.has(found));
      const unfolded = open.has(group.id);
      group.row.hidden = !own.length;
      group.row.cells[0].setAttribute("aria-expanded", String(unfolded));
      one("small", group.row).textContent = own.length === group.cases.length ? own.length : `${own.length} of ${group.cases.length}`;
      group.cases.forEach((found) => (found.row.hidden = !unfolded || !kept.has(found)));
      for (const { place } of columns) count(group.row.cells[place + 1], own, place);
    }
    const hides = clients.filter((client) => !columns.includes(client)).map(({ place }) => `#matrix tr > :nth-child(${place + 2})`);
    sheet.replaceSync(hides.length ? `${hides.join(",")}{display:none}` : "");
    table.classList.toggle("dimmed", Boolean(value.outcome));
    table.classList.toggle("one", columns.length === 1);
    if (value.outcome) for (const found of left) for (const { place } of columns) found.row.cells[place + 1].classList.toggle("match", finds[found.ranks[place]]);
    if (columns.length === 1) for (const found of left) found.row.cells[columns[0].place + 1].dataset.words = MARKS[found.ranks[columns[0].place]].words;
    clients.forEach((client) => client.head.setAttribute("aria-selected", String(client.id === value.client)));
    rows = [table.tHead.rows[0], ...groups.flatMap((group) => [group.row, ...group.cases.map((found) => found.row)]).filter((row) => !row.hidden)];
    one(".tools output").textContent = `${amount(left.length, cases.length, "case")}, ${amount(columns.length, clients.length, "client")}`;
    one("[data-unfold]").textContent = open.size === groups.length ? "Fold all" : "Unfold all";
    one(".nothing").hidden = left.length > 0;
  };
  const amount = (left, of, noun) => `${left === of ? of : `${left} of ${of}`} ${noun}${of === 1 ? "" : "s"}`;
  const count = (cell, own, place) => {
    const tried = own.map((found) => found.ranks[place]).filter((rank) => rank < UNSUPPORTED);
    const worst = MARKS[own.reduce((rank, found) => Math.min(rank, found.ranks[place]), UNTRIED)];
    cell.className = worst.code;
    cell.firstChild.textContent = worst.symbol;
    cell.lastChild.textContent = tried.length ? `${tried.filter((rank) => rank === rankOf.p).length}/${tried.length}` : "";
  };

  // --- the grid: one cell is in the order of the Tab key, arrows move it
  table.setAttribute("role", "grid");
  table.setAttribute("aria-readonly", "true");
  all("a", table).forEach((link) => (link.tabIndex = -1));
  clients.forEach((client) => (client.head.title = `${client.name} ${client.version}`));
  let current = null;
  const describe = (cell) => {
    const client = clients[cell.cellIndex - 1];
    const row = cell.parentElement;
    const group = groups.find((other) => other.row === row);
    if (!client || row.parentElement === table.tHead) return;
    const rank = rankOf[cell.className.split(" ")[0]];
    const words = MARKS[rank].words;
    const text = group ? `${client.name}, ${group.id}: ${cell.lastChild.textContent ? `${cell.lastChild.textContent} pass, worst: ` : ""}${words}`
      : `${client.name}, ${caseById.get(row.dataset.case).title}: ${words}${cell.classList.contains("k") ? ", known failure" : ""}`;
    cell.setAttribute("aria-label", text);
    cell.title = text;
  };
  const settle = (cell) => {
    if (current) current.tabIndex = -1;
    current = cell;
    describe(cell);
    cell.tabIndex = 0;
  };
  const visible = (cell) => cell && !cell.parentElement.hidden && (cell.cellIndex === 0 || columns.includes(clients[cell.cellIndex - 1]));
  const focus = (cell) => {
    settle(visible(cell) ? cell : rows[0].cells[0]);
    current.focus();
  };
  const move = (event) => {
    if (event.altKey || event.metaKey || event.target.closest("a")) return;
    const places = [0, ...columns.map(({ place }) => place + 1)];
    const [y, x] = [rows.indexOf(current.parentElement), places.indexOf(current.cellIndex)];
    const [lastRow, lastColumn] = [rows.length - 1, places.length - 1];
    const moves = {
      ArrowRight: [y, x + 1], ArrowLeft: [y, x - 1], ArrowDown: [y + 1, x], ArrowUp: [y - 1, x],
      PageDown: [y + 10, x], PageUp: [y - 10, x], Home: [event.ctrlKey ? 0 : y, 0], End: [event.ctrlKey ? lastRow : y, lastColumn],
    };
    const to = moves[event.key];
    if (to) focus(rows[Math.max(0, Math.min(to[0], lastRow))].cells[places[Math.max(0, Math.min(to[1], lastColumn))]]);
    else if (event.key === "Enter" || event.key === " ") activate(current);
    else return;
    event.preventDefault();
  };
  const activate = (cell) => {
    const row = cell.parentElement;
    const client = clients[cell.cellIndex - 1];
    const group = groups.find((other) => other.row === row);
    if (row.parentElement === table.tHead) {
      if (!client) return;
      inputs.client.value = inputs.client.value === client.id ? "" : client.id;
    } else if (group) {
      if (!open.delete(group.id)) open.add(group.id);
    } else return present(caseById.get(row.dataset.case), client);
    update();
    write();
  };
  table.addEventListener("keydown", (event) => current && event.target === current && move(event));
  table.addEventListener("focusin", (event) => event.target.matches("td, th") && settle(event.target));
  table.addEventListener("pointerover", (event) => event.target.closest("td") && describe(event.target.closest("td")));
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td, th");
    if (!cell || event.target.closest("a")) return;
    focus(cell);
    activate(cell);
  });

  // --- the filters
  const changed = () => {
    if (narrowed()) groups.forEach((group) => open.add(group.id));
    update();
    write();
  };
  Object.values(inputs).forEach((input) => input.addEventListener("input", changed));
  one("[data-clear]").addEventListener("click", () => {
    Object.values(inputs).forEach((input) => (input.value = ""));
    open.clear();
    update();
    write();
  });
  one("[data-unfold]").addEventListener("click", () => {
    open = new Set(open.size === groups.length ? [] : groups.map((group) => group.id));
    update();
    write();
  });

  // --- the evidence of a cell, or of a case for every client
  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };
  const chip = (mark) => element("span", { className: `chip ${mark.code}` }, mark.symbol || "\u00a0");
  const evidence = new Map();
  const evidenceOf = (found) => {
    if (!evidence.has(found)) {
      const unpack = async () => {
        const bytes = Uint8Array.from(atob(found.row.dataset.evidence), (character) => character.charCodeAt(0));
        return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
      };
      evidence.set(found, unpack());
    }
    return evidence.get(found);
  };
  const facts = (pairs) => element("dl", {}, ...pairs.filter(([, value]) => value).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  // A line of HTTP is a line, as people know it from other tools.
  const broken = (text) => text.replaceAll("\\r\\n", "\\r\\n\n    ").trimEnd();
  const lines = (title, texts) => (texts?.length ? [element("h3", {}, title), element("pre", {}, texts.map(broken).join("\n"))] : []);
  const quoted = (text) => (/^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const commandOf = (found, client) => {
    const code = element("code", {}, `httpdyno conform ${quoted(client.id)} ${quoted(found.id)} --show`);
    const button = element("button", { type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Marked";
      }
    });
    return element("div", { className: "command" }, element("pre", {}, code), button);
  };
  const clause = (found) => {
    const source = one("small", found.row).firstElementChild;
    const text = source.localName === "a" ? element("a", { href: source.href, rel: "noreferrer" }, source.textContent) : source.textContent;
    return element("span", {}, text, `, ${found.level}`);
  };
  const verdict = (found, client, tries) => {
    const mark = MARKS[found.ranks[client.place]];
    const tried = tries?.length ? [`tries: ${tries.join(", ")}`] : [];
    return element("p", { className: "verdict" }, chip(mark), element("strong", {}, mark.words), ...tried);
  };
  const everyClient = (found) => {
    const worstFirst = [...clients].sort((a, b) => found.ranks[a.place] - found.ranks[b.place]);
    const entries = worstFirst.map((client) => {
      const mark = MARKS[found.ranks[client.place]];
      const button = element("button", { type: "button" }, chip(mark), element("span", {}, client.name));
      button.addEventListener("click", () => present(found, client));
      button.setAttribute("aria-label", `${client.name}: ${mark.words}`);
      return element("li", {}, button);
    });
    return [element("h3", {}, "Clients"), element("ul", { className: "clients" }, ...entries)];
  };
  const content = (found, client, data) => {
    const cell = client && data && Object.hasOwn(data.cells, client.id) ? data.cells[client.id] : null;
    const made = client ? [verdict(found, client, cell?.tries)] : [];
    made.push(facts([
      ["clause", clause(found)], ["why", data?.why], ["expected", data?.expected],
      ["difference", cell?.seen.join("\n")], ["known failure", cell?.known],
    ]));
    if (!data) made.push(element("p", { className: "reservation" }, "This browser cannot unpack the evidence (DecompressionStream). The JSON of the run and the command have it."));
    if (client && data && !cell) made.push(element("p", { className: "reservation" }, "This case was not tried with this client."));
    made.push(...lines("What the client reported", cell?.reported));
    made.push(...lines("What the server does", data?.script));
    made.push(...lines("What the server saw", cell?.transcript));
    if (client) {
      made.push(element("h3", {}, "Repeat it"), commandOf(found, client));
      const others = element("button", { type: "button" }, "All clients of this case");
      others.addEventListener("click", () => present(found));
      made.push(element("p", { className: "others" }, others));
      made.push(facts([[client.name, client.version], ["httpdyno", document.body.dataset.httpdyno], ["date", document.body.dataset.date]]));
    } else made.push(...everyClient(found));
    return made;
  };
  let last = null;
  const present = async (found, client) => {
    const asked = (last = { found, client });
    shown = { show: found.id, by: client?.id ?? "" };
    write();
    one("h2", panel).textContent = found.title;
    one(".eyebrow", panel).textContent = client ? `${client.name} ${client.version}, ${found.id}` : found.id;
    const body = one(".content", panel);
    body.replaceChildren();
    panel.scrollTop = 0;
    if (!panel.open) panel.showModal();
    else one("[data-close]").focus(); // the button that was chosen is gone
    const data = await evidenceOf(found).catch(() => null);
    if (last === asked) body.replaceChildren(...content(found, client, data));
  };
  panel.addEventListener("close", () => {
    // The browser gives focus back to the cell or link; a panel that the address opened had none.
    const cell = last?.found.row.cells[(last.client?.place ?? -1) + 1];
    if (document.activeElement === document.body && visible(cell)) focus(cell);
    last = null;
    shown = { show: "", by: "" };
    write();
  });
  one("[data-close]").addEventListener("click", () => panel.close());
  panel.addEventListener("click", (event) => event.target === panel && event.clientX < panel.getBoundingClientRect().left && panel.close());
  all("[data-show]").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    present(caseById.get(link.dataset.show), clientById.get(link.dataset.by));
  }));

  root.classList.add("js");
  one(".scroll").append(element("p", { className: "nothing", hidden: true }, "No case matches."));
  addEventListener("hashchange", read);
  settle(heads[0]);
  read();
}
