"use strict";
// Sorts, filters and pages the rows.  All data goes through textContent: nothing here parses a string as HTML.
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const { rows, chips, titles } = JSON.parse(byId("data").textContent);
  const drawn = new WeakMap(); // table row to the record it shows
  const state = { key: "id", descending: false, page: 0 };
  let shown = rows;

  // ---------------------------------------------------------------- drawing

  function element(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function svg(name, attributes, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function segment(piece) {
    if (typeof piece === "string") return [piece];
    if (!Array.isArray(piece)) {
      return [element("details", { class: "fold" }, element("summary", {}, `… ${piece.words} words …`), piece.fold)];
    }
    if (piece.length === 1) return [element("mark", {}, piece[0])];
    return [element("del", {}, piece[0]), element("ins", {}, piece[1])];
  }

  function afterSwaps(row) {
    return row.segments.map((s) => (typeof s === "string" ? s : Array.isArray(s) ? s.at(-1) : s.fold)).join("");
  }

  function beforeSwaps(row) {
    return row.segments.map((s) => (typeof s === "string" ? s : Array.isArray(s) ? s[0] : s.fold)).join("");
  }

  function witness(row) {
    return row.witness === true ? afterSwaps(row) : row.witness;
  }

  function evidence(row) {
    const list = element("dl", {});
    const terms = row.witness === undefined ? row.evidence : [["Witness", witness(row)], ...row.evidence];
    for (const [term, text] of terms) list.append(element("dt", {}, term), element("dd", { dir: "auto" }, text));
    const details = element("details", { class: "evidence" }, element("summary", {}, "Evidence"), list);
    if (row.witness !== undefined) {
      details.append(element("button", { type: "button", class: "copy" }, "Copy witness"));
    }
    return details;
  }

  function piece(part) {
    return typeof part === "string" ? part : element("span", { class: `lex-w ${part[1]}`, title: part[2] }, part[0]);
  }

  function saliency(row) {
    const details = element("details", { class: "lex-saliency" }, element("summary", {}, "Which words matter"));
    if (row.unfolded) details.setAttribute("open", "");
    for (const [name, legend, pieces] of row.saliency) {
      const method = element("span", { class: "lex-method" }, element("b", {}, name), ` · ${legend}`);
      const text = element("span", { class: "lex-text", dir: "auto" }, ...pieces.map(piece));
      details.append(element("p", { class: "lex-line" }, method, text));
    }
    return details;
  }

  function textCell(row) {
    const cell = element("td", { role: "cell", class: "text" });
    if (row.premise !== undefined) cell.append(element("p", { class: "premise", dir: "auto" }, row.premise));
    const chip = element("span", { class: "chip" }, chips[row.status]);
    cell.append(
      element("p", { class: "surface", dir: "auto" }, ...row.segments.flatMap(segment)),
      element("p", { class: "verdict" }, chip, element("bdi", {}, row.verdict)),
      ...(row.saliency === undefined ? [] : [saliency(row)]),
      evidence(row),
    );
    return cell;
  }

  function draw(row) {
    const plain = (name, text) => element("td", { role: "cell", class: name, "data-title": titles[name] }, text);
    const picture = svg("svg", { class: "bracket", "aria-hidden": "true" }, svg("use", { href: `#${row.glyph}` }));
    const line = element(
      "tr",
      { role: "row", class: row.status, "data-id": row.id },
      plain("id", String(row.id)),
      textCell(row),
      plain("lower", row.cells.lower),
      element("td", { role: "cell", class: "glyph" }, picture),
      ...["upper", "share", "confidence", "queries"].map((name) => plain(name, row.cells[name])),
    );
    drawn.set(line, row);
    return line;
  }

  // ---------------------------------------------------------------- choosing

  const haystacks = new Map();

  function haystack(row) {
    let text = haystacks.get(row);
    if (text === undefined) {
      const pieces = [beforeSwaps(row), row.premise, row.verdict, ...row.evidence.map((pair) => pair[1])];
      if (row.witness !== undefined) pieces.push(witness(row));
      text = pieces.join("\n").toLowerCase();
      haystacks.set(row, text);
    }
    return text;
  }

  function matches(row, query, status, label, closedOnly) {
    if (status && row.status !== status) return false;
    if (label && String(row.label) !== label) return false;
    if (closedOnly && !row.closed) return false;
    if (!query) return true;
    if (query.startsWith("#")) return `#${row.id}`.toLowerCase() === query;
    return query.includes("→") ? holdsSwap(row, query) : haystack(row).includes(query);
  }

  // "good → fine" must not find "good → finest"; while the new word is not yet typed, any will do.
  function holdsSwap(row, query) {
    const listed = `, ${haystack(row).replaceAll("\n", ", ")}, `;
    return listed.includes(query.endsWith("→") ? `, ${query}` : `, ${query}, `);
  }

  // Texts without a value come last in either direction; equal ones keep the order of the run.
  function compare(a, b) {
    const x = state.key === "id" ? a.id : a.keys[state.key];
    const y = state.key === "id" ? b.id : b.keys[state.key];
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return state.descending ? -order : order;
  }

  function choose() {
    const query = byId("query").value.trim().toLowerCase();
    const [status, label, closedOnly] = [byId("status").value, byId("label").value, byId("closed").checked];
    shown = rows.filter((row) => matches(row, query, status, label, closedOnly)).sort(compare);
    state.page = 0;
    update();
  }

  // ---------------------------------------------------------------- showing

  const number = new Intl.NumberFormat("en-US");

  function foundText(start, end) {
    if (!shown.length) return rows.length ? "No text matches; change or reset the filters." : "No texts.";
    const of = shown.length === rows.length ? "" : ` that match, out of ${number.format(rows.length)}`;
    return `Texts ${number.format(start + 1)} to ${number.format(end)} of ${number.format(shown.length)}${of}`;
  }

  function update() {
    const size = Number(byId("size").value);
    const last = Math.max(0, Math.ceil(shown.length / size) - 1);
    state.page = Math.min(Math.max(state.page, 0), last);
    const start = state.page * size;
    const end = Math.min(start + size, shown.length);
    byId("rows").replaceChildren(...shown.slice(start, end).map(draw));
    byId("found").textContent = foundText(start, end);
    byId("page").textContent = `Page ${number.format(state.page + 1)} of ${number.format(last + 1)}`;
    byId("first").disabled = byId("previous").disabled = state.page === 0;
    byId("next").disabled = byId("last").disabled = state.page === last;
    for (const button of document.querySelectorAll("[data-sort]")) {
      const direction = state.descending ? "descending" : "ascending";
      button.parentElement.setAttribute("aria-sort", button.dataset.sort === state.key ? direction : "none");
    }
    byId("sort").value = state.key;
    byId("direction").setAttribute("aria-pressed", String(state.descending));
  }

  function turn(page) {
    state.page = page;
    update();
    byId("found").scrollIntoView({ block: "start" });
  }

  function sortBy(key, descending) {
    state.key = key;
    state.descending = descending;
    choose();
  }

  async function copyWitness(button) {
    const row = drawn.get(button.closest("tr"));
    const text = row.copy ?? witness(row);
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without permission or a secure origin, select a copy of the text and use the older command.
      const area = element("textarea", { "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = "Copied";
  }

  function isDark() {
    const chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function labelTheme() {
    byId("theme").textContent = isDark() ? "Light" : "Dark";
    byId("theme").setAttribute("aria-pressed", String(isDark()));
  }

  // ---------------------------------------------------------------- wiring

  root.classList.add("js");
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("reset", () => setTimeout(() => sortBy("id", false)));
  byId("query").addEventListener("input", choose);
  for (const id of ["status", "label", "closed"]) byId(id).addEventListener("change", choose);
  byId("sort").addEventListener("change", () => sortBy(byId("sort").value, state.descending));
  byId("direction").addEventListener("click", () => sortBy(state.key, !state.descending));
  byId("size").addEventListener("change", choose);
  byId("first").addEventListener("click", () => turn(0));
  byId("previous").addEventListener("click", () => turn(state.page - 1));
  byId("next").addEventListener("click", () => turn(state.page + 1));
  byId("last").addEventListener("click", () => turn(Infinity));
  for (const button of document.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => {
      sortBy(button.dataset.sort, button.dataset.sort === state.key && !state.descending);
    });
  }
  for (const link of document.querySelectorAll("[data-find]")) {
    link.addEventListener("click", () => {
      byId("controls").reset();
      byId("query").value = link.dataset.find;
      choose();
    });
  }
  byId("rows").addEventListener("click", (event) => {
    if (event.target.matches(".copy")) copyWitness(event.target);
  });
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    labelTheme();
  });
  labelTheme();
  update();
})();
