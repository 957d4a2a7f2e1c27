// What a report does when it is touched: sort and filter tables, single out a subject, tell what a mark is.
"use strict";
{
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // --- sorting: numbers by value, texts by the alphabet, what is not known last whichever way
  const compare = (one, other) => {
    const [a, b] = [Number(one), Number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other, "en", { numeric: true }) : a - b;
  };
  const sort = (head) => {
    const table = head.closest("table");
    const place = head.cellIndex;
    const upwards = head.getAttribute("aria-sort") !== "ascending";
    const value = (row) => row.cells[place].dataset.value;
    const known = (row) => value(row) !== "";
    const rows = all("tbody tr", table);
    const sorted = rows.filter(known).sort((a, b) => (upwards ? 1 : -1) * compare(value(a), value(b)));
    table.tBodies[0].append(...sorted, ...rows.filter((row) => !known(row)));
    all("th", table).forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
  };
  all("thead th").forEach((head) => head.querySelector("button").addEventListener("click", () => sort(head)));

  // --- filtering: a row stays when it holds every word
  const filter = (input) => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all("tbody tr", document.getElementById(input.dataset.filters));
    rows.forEach((row) => {
      const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    });
    const left = rows.filter((row) => !row.hidden).length;
    const count = document.querySelector(`[data-counts="${input.dataset.filters}"]`);
    count.textContent = left === rows.length ? `${left} rows` : `${left} of ${rows.length} rows`;
  };
  all("[data-filters]").forEach((input) => input.addEventListener("input", () => filter(input)));

  // --- one subject among all: while the pointer is on its name, or until its name is chosen again
  const root = document.documentElement;
  const buttons = all("[data-singles]");
  let chosen = null;
  const single = (subject) => (subject === null ? delete root.dataset.only : (root.dataset.only = subject));
  buttons.forEach((button) => {
    const subject = button.dataset.singles;
    button.addEventListener("click", () => {
      chosen = chosen === subject ? null : subject;
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other.dataset.singles === chosen)));
      single(chosen);
    });
    button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && single(subject));
    button.addEventListener("pointerleave", () => single(chosen));
  });

  // --- what a mark is: the nearest one to the pointer says it
  const tip = document.querySelector(".tip");
  const REACH = 28;
  const marks = new WeakMap();
  const marksOf = (drawing) => {
    if (!marks.has(drawing)) {
      marks.set(drawing, all('[role="graphics-symbol"][aria-label]', drawing).filter((mark) => !mark.closest(".role-axis, .role-legend, .role-title") && mark.localName === "path"));
    }
    return marks.get(drawing);
  };
  const distance = (mark, x, y) => {
    const box = mark.getBoundingClientRect();
    // From the nearest edge of a bar, from the centre of a point.
    const dx = Math.max(box.left - x, 0, x - box.right);
    const dy = Math.max(box.top - y, 0, y - box.bottom);
    return Math.hypot(dx, dy);
  };
  const tell = (event) => {
    let nearest = null;
    let least = REACH;
    for (const mark of marksOf(event.currentTarget)) {
      const away = distance(mark, event.clientX, event.clientY);
      if (away < least) [nearest, least] = [mark, away];
    }
    tip.hidden = nearest === null;
    if (nearest === null) return;
    tip.textContent = nearest.getAttribute("aria-label");
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const top = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18;
    tip.style.transform = `translate(${Math.max(left, 8)}px, ${top}px)`;
  };
  all(".drawing").forEach((drawing) => {
    drawing.addEventListener("pointermove", tell);
    drawing.addEventListener("pointerdown", tell);
    drawing.addEventListener("pointerleave", () => (tip.hidden = true));
  });
  addEventListener("scroll", () => (tip.hidden = true), { passive: true });

  // --- the command, into the clipboard where the browser lets us, else marked for the reader to copy
  all("[data-copies]").forEach((button) => {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Marked";
      }
    });
  });
}
