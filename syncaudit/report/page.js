"use strict";

/* Shows what Python computed: sorts, filters and leafs through tables. Every text goes in as text. */

const SIGNS = { p: "✓", r: "✕", u: "?" };
const WORDS = { p: "pass", r: "reject", u: "unverified" };

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function dataOf(id) {
  const element = document.getElementById(id);
  return element && JSON.parse(element.textContent);
}

/* Names are isolated, so that one that runs right to left leaves its neighbours alone. */
function named(text) {
  return make("bdi", { className: "cut", textContent: text, title: text });
}

class Listing {
  /* columns: {title, numeric, start, key(row), cell(row)}; detail(row) gives a node to unfold. */
  constructor(root, size, columns, length, detail) {
    Object.assign(this, { root, columns, length, detail });
    this.all = Uint32Array.from({ length: size }, (_, row) => row);
    this.rows = this.all;
    this.page = 0;
    this.column = -1;
    this.direction = 1;
    this.build();
    root.hidden = false;
    this.show();
  }

  build() {
    const heads = this.columns.map((column, k) => {
      const button = make("button", { type: "button", textContent: column.title });
      button.addEventListener("click", () => this.sortBy(k));
      return make("th", { className: column.numeric ? "number" : "", scope: "col" }, button);
    });
    this.heads = heads;
    this.body = make("tbody");
    const caption = make("caption", { className: "hidden", textContent: this.root.dataset.caption });
    const table = make("table", {}, caption, make("thead", {}, make("tr", {}, ...heads)), this.body);
    const scroll = make("div", { className: "scroll", tabIndex: 0 }, table);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", this.root.dataset.caption);
    this.status = make("span", { className: "status" });
    this.status.setAttribute("role", "status");
    const leaf = (words, label, to) => {
      const button = make("button", { type: "button", textContent: words, ariaLabel: label });
      button.addEventListener("click", () => this.leaf(to()));
      return button;
    };
    const last = () => this.pages() - 1;
    this.back = [leaf("«", "first page", () => 0), leaf("‹", "page before", () => this.page - 1)];
    this.on = [leaf("›", "next page", () => this.page + 1), leaf("»", "last page", last)];
    const pager = make("div", { className: "pager" }, ...this.back, this.status, ...this.on);
    this.root.replaceChildren(scroll, pager);
  }

  pages() {
    return Math.max(1, Math.ceil(this.rows.length / this.length));
  }

  leaf(page) {
    this.page = Math.min(Math.max(page, 0), this.pages() - 1);
    this.show();
  }

  keep(test) {
    this.test = test;
    this.refresh();
  }

  sortBy(k) {
    const first = this.columns[k].start ?? 1;
    if (this.column !== k) [this.column, this.direction] = [k, first];
    else if (this.direction === first) this.direction = -first;
    else this.column = -1; // the third time: as it was
    this.heads.forEach((head, n) => {
      const order = this.direction > 0 ? "ascending" : "descending";
      head.setAttribute("aria-sort", n === this.column ? order : "none");
    });
    this.refresh();
  }

  refresh() {
    const rows = this.test ? this.all.filter(this.test) : this.all.slice();
    if (this.column >= 0) {
      const { key } = this.columns[this.column];
      const keys = new Map(Array.from(rows, (row) => [row, key(row)]));
      const compare = (a, b) => {
        const [x, y] = [keys.get(a), keys.get(b)];
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        return this.direction * (x < y ? -1 : x > y ? 1 : 0) || a - b;
      };
      rows.sort(compare);
    }
    this.rows = rows;
    this.leaf(0);
  }

  show() {
    const shown = this.rows.subarray(this.page * this.length, (this.page + 1) * this.length);
    this.body.replaceChildren(...Array.from(shown, (row) => this.line(row)));
    const count = this.rows.length.toLocaleString("en");
    const [first, last] = [this.page * this.length + 1, this.page * this.length + shown.length];
    const range = `${first.toLocaleString("en")}–${last.toLocaleString("en")} of ${count}`;
    this.status.textContent = shown.length ? range : "Nothing matches.";
    this.back.forEach((button) => { button.disabled = this.page === 0; });
    this.on.forEach((button) => { button.disabled = this.page >= this.pages() - 1; });
    this.root.querySelector(".pager").classList.toggle("single", this.all.length <= this.length);
  }

  line(row) {
    const cells = this.columns.map((column) => {
      const cell = make("td", { className: column.numeric ? "number" : "" });
      cell.append(column.cell(row));
      return cell;
    });
    const line = make("tr", {}, ...cells);
    if (this.detail) this.unfoldable(line, cells, row);
    return line;
  }

  unfoldable(line, cells, row) {
    const button = make("button", { type: "button", className: "unfold", textContent: "▸" });
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "details");
    cells[0].prepend(button);
    let below = null;
    button.addEventListener("click", () => {
      if (below) {
        below.remove();
        below = null;
      } else {
        const cell = make("td", { colSpan: cells.length, className: "detail" }, this.detail(row));
        below = make("tr", {}, cell);
        line.after(below);
      }
      button.setAttribute("aria-expanded", String(below !== null));
      button.textContent = below ? "▾" : "▸";
    });
  }
}

function clipColumns(data) {
  const verdict = (row) => data.verdicts[row];
  const recording = (row) => data.recordings[data.recording_of[row]] ?? "";
  const worst = (row) => (data.worst_of[row] < 0 ? null : data.worst_us[row] / 1000);
  const sign = (row) => {
    const letter = verdict(row);
    const words = make("span", { className: `verdict ${WORDS[letter]}` });
    words.append(`${SIGNS[letter]} ${WORDS[letter]}`);
    return words;
  };
  const reasons = (row) => {
    const why = data.why[row];
    const list = make("span", { className: "why" });
    for (let k = 0; k < why.length; k += 2) {
      list.append(make("code", { textContent: data.codes[why[k]] ?? "" }), " ");
      if (why[k + 1] >= 0) list.append(named(data.sources[why[k + 1]]), " ");
    }
    return list;
  };
  const offset = (row) => {
    const ms = worst(row);
    if (ms === null) return "–";
    const digits = Math.abs(ms) >= 1000 ? 0 : 1;
    const text = ms.toLocaleString("en", { signDisplay: "exceptZero", minimumFractionDigits: digits, maximumFractionDigits: digits });
    return `${text.replace("-", "−")} ms`;
  };
  const rank = { r: 0, u: 1, p: 2 };
  const columns = [
    { title: "verdict", key: (row) => rank[verdict(row)], cell: sign },
    { title: "clip", key: (row) => data.ids[row], cell: (row) => named(data.ids[row]) },
    { title: "reasons", key: (row) => data.codes[data.why[row][0]] ?? null, cell: reasons },
    { title: "farthest source", key: (row) => data.sources[data.worst_of[row]] ?? null,
      cell: (row) => named(data.sources[data.worst_of[row]] ?? "–") },
    { title: "its offset", numeric: true, start: -1, cell: offset,
      key: (row) => { const ms = worst(row); return ms === null ? null : Math.abs(ms); } },
  ];
  const place = { title: "recording", key: recording, cell: (row) => named(recording(row)) };
  if (data.recordings.length) columns.splice(2, 0, place);
  return columns;
}

function clipDetail(data, row) {
  const card = document.getElementById(data.cards[row]);
  if (card) return card.content.cloneNode(true);
  const command = make("code", { textContent: `syncaudit inspect MANIFEST --clip '${data.ids[row]}'` });
  return make("p", {}, "Its measurements are in verdicts.parquet; ", command, " shows them in words.");
}

function fill(select, names) {
  const sorted = [...names].sort();
  select.append(...sorted.map((name) => make("option", { value: name, textContent: name })));
}

function showClips(data) {
  const form = document.getElementById("filter");
  const search = document.getElementById("search");
  const byCode = document.getElementById("by-code");
  const bySource = document.getElementById("by-source");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  const detail = (row) => clipDetail(data, row);
  const root = document.getElementById("clip-table");
  const listing = new Listing(root, data.ids.length, clipColumns(data), 50, detail);
  listing.sortBy(0); // rejected clips first
  const accused = new Set(data.why.flatMap((why) => why.filter((_, k) => k % 2)));
  fill(byCode, data.codes);
  fill(bySource, data.sources.filter((_, number) => accused.has(number)));
  form.hidden = false;

  let texts = null; // small letters, made when somebody first searches
  const refresh = () => {
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const wanted = search.value.trim().toLowerCase();
    if (wanted && !texts) {
      const recordings = data.recordings.map((name) => name.toLowerCase());
      const text = (id, row) => `${id.toLowerCase()}\n${recordings[data.recording_of[row]] ?? ""}`;
      texts = data.ids.map(text);
    }
    const code = byCode.value ? data.codes.indexOf(byCode.value) : -2;
    const source = bySource.value ? data.sources.indexOf(bySource.value) : -2;
    const isCaused = (why) => {
      for (let k = 0; k < why.length; k += 2) {
        const fits = (code === -2 || why[k] === code) && (source === -2 || why[k + 1] === source);
        if (fits) return true;
      }
      return false;
    };
    const isAny = code === -2 && source === -2;
    listing.keep((row) => verdicts.has(data.verdicts[row])
      && (isAny || isCaused(data.why[row])) && (!wanted || texts[row].includes(wanted)));
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", refresh);
  form.addEventListener("reset", () => setTimeout(refresh));

  document.querySelectorAll("button.show").forEach((button) => {
    button.addEventListener("click", () => {
      form.reset();
      byCode.value = button.dataset.code;
      bySource.value = button.dataset.source;
      if (bySource.selectedIndex < 0) bySource.value = ""; // its name is cut in the table
      refresh();
      const section = document.getElementById("clips");
      section.scrollIntoView();
      section.focus({ preventScroll: true });
    });
  });
}

function showCourses(lines) {
  const text = (title, k) => ({ title, key: (row) => lines[row][k], cell: (row) => named(lines[row][k]) });
  const count = (title, k) => ({ title, numeric: true, start: -1, key: (row) => lines[row][k],
    cell: (row) => lines[row][k].toLocaleString("en") });
  const measure = (title, k) => ({ title, numeric: true, start: -1, cell: (row) => lines[row][k][0],
    key: (row) => (lines[row][k][1] === null ? null : Math.abs(lines[row][k][1])) });
  const columns = [text("recording", 0), text("clock", 1), count("clips", 2), count("rejected", 3),
    measure("offset", 4), measure("drift", 5), measure("moves by", 6), measure("wander", 7),
    measure("steps", 8)];
  new Listing(document.getElementById("course-table"), lines.length, columns, 20, null);
}

const clips = dataOf("clip-data");
if (clips) showClips(clips);
const lines = dataOf("course-data");
if (lines) showCourses(lines);
