"use strict";
(() => {
  const data = JSON.parse(document.getElementById("rows").textContent);
  const { heads, numeric, rows, words, statuses } = data;
  const ROW = 30;
  const scroller = document.getElementById("scroller");
  const grid = document.getElementById("grid");
  const body = document.getElementById("body");
  const head = document.getElementById("head");
  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const detail = document.getElementById("detail");
  const STATUS = 3;
  // Texts that repeat stand in `words` once; a row holds their numbers.
  const textOf = (row, k) => numeric[k] ? (row.c[k] === null ? "" : String(row.c[k])) : words[row.c[k]];
  rows.forEach((row, k) => {
    row.place = k;
    const verdicts = row.e.map((one, j) => `${data.exercises[j]} ${words[one[0]]} ${words[one[2]]}`);
    row.hay = [...heads.map((_, j) => textOf(row, j)), words[row.m], ...verdicts].join(" ").toLowerCase();
  });
  const collator = new Intl.Collator(undefined, { numeric: true });
  const ranks = heads.map(() => null);
  // Texts are ranked once for each column, so that sorting compares numbers.
  const rankOf = (k) => {
    if (!ranks[k]) {
      const seen = [...new Set(rows.map((row) => row.c[k]))];
      seen.sort((a, b) => collator.compare(words[a], words[b]));
      ranks[k] = new Map(seen.map((one, place) => [one, place]));
    }
    return ranks[k];
  };
  let sort = { by: -1, down: false };
  let status = "";
  let shown = rows;
  let chosen = -1;

  const refresh = () => {
    const asked = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = rows.filter((row) => (!status || textOf(row, STATUS) === status)
      && asked.every((word) => row.hay.includes(word)));
    if (sort.by >= 0) {
      const k = sort.by, sign = sort.down ? -1 : 1;
      const rank = numeric[k] ? null : rankOf(k);
      const key = (row) => rank ? rank.get(row.c[k]) : row.c[k];
      shown.sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === y) return a.place - b.place;
        if (x === null) return 1;  // points that nobody knows come last, whichever way
        if (y === null) return -1;
        return sign * (x - y);
      });
    }
    count.textContent = `${shown.length} of ${rows.length} rows`;
    grid.setAttribute("aria-rowcount", shown.length + 1);
    chosen = shown.length ? 0 : -1;
    scroller.scrollTop = 0;
    draw();
    tell(false);
  };

  const spacer = (height) => {
    const line = document.createElement("tr");
    line.setAttribute("aria-hidden", "true");
    const cell = document.createElement("td");
    cell.colSpan = heads.length;
    cell.className = "spacer";
    cell.style.height = `${height}px`;
    line.append(cell);
    return line;
  };

  const draw = () => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 10);
    const last = Math.min(shown.length, first + Math.ceil(scroller.clientHeight / ROW) + 30);
    const lines = [spacer(first * ROW)];
    for (let place = first; place < last; place += 1) {
      const row = shown[place];
      const line = document.createElement("tr");
      line.dataset.place = place;
      line.setAttribute("aria-rowindex", place + 2);
      line.setAttribute("aria-selected", place === chosen);
      line.id = `row-${place}`;
      heads.forEach((_, k) => {
        const cell = document.createElement("td");
        cell.textContent = textOf(row, k);
        cell.title = cell.textContent;
        if (numeric[k]) cell.className = "n";
        if (k === STATUS) cell.className = `status ${statuses[cell.textContent] || ""}`;
        line.append(cell);
      });
      lines.push(line);
    }
    lines.push(spacer((shown.length - last) * ROW));
    body.replaceChildren(...lines);
    if (chosen >= 0) grid.setAttribute("aria-activedescendant", `row-${chosen}`);
    else grid.removeAttribute("aria-activedescendant");
  };

  const add = (tag, said, style) => {
    const one = document.createElement(tag);
    one.textContent = said;
    if (style) one.className = style;
    detail.append(one);
    return one;
  };

  const tell = (remember) => {
    detail.replaceChildren();
    const row = shown[chosen];
    if (!row) { add("p", "No row fits.", "soft"); return; }
    add("h2", [textOf(row, 1), textOf(row, 0)].filter(Boolean).join(", "));
    add("p", `${textOf(row, STATUS)}${words[row.m] ? ". " + words[row.m] : ""}`);
    if (row.e.length) {
      const table = add("table", "");
      row.e.forEach((one, k) => {
        const line = table.insertRow();
        line.insertCell().textContent = data.exercises[k];
        line.insertCell().textContent = words[one[0]] || "no verdict";
        const points = line.insertCell();
        points.textContent = one[1] === null ? "" : one[1];
        points.className = "n";
        line.insertCell().textContent = words[one[2]];
      });
    }
    if (data.feedback) {
      const link = document.createElement("a");
      link.href = `feedback/${encodeURIComponent(row.i)}.html`;
      link.textContent = "Feedback page";
      detail.append(link);
    }
    if (remember) history.replaceState(null, "", `#${encodeURIComponent(row.i)}`);
  };

  const choose = (place) => {
    if (place < 0 || place >= shown.length) return;
    chosen = place;
    const top = place * ROW, view = scroller.clientHeight - ROW * 2;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + view) scroller.scrollTop = top - view;
    draw();
    tell(true);
  };

  const nextOpen = (step) => {
    for (let place = chosen + step; place >= 0 && place < shown.length; place += step) {
      if (["needs-human", "grader-error"].includes(textOf(shown[place], STATUS))) { choose(place); return; }
    }
  };

  heads.forEach((name, k) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    const longest = rows.reduce((most, row) => Math.max(most, textOf(row, k).length), name.length + 1);
    cell.style.width = `${Math.min(30, longest + 2)}ch`;
    cell.setAttribute("aria-sort", "none");
    if (numeric[k]) cell.className = "n";
    const button = document.createElement("button");
    button.textContent = name;
    button.title = name;
    button.addEventListener("click", () => {
      // Numbers start with the largest, texts with the first letter; a third click is the class's order.
      const start = numeric[k];
      if (sort.by !== k) sort = { by: k, down: start };
      else if (sort.down === start) sort = { by: k, down: !start };
      else sort = { by: -1, down: false };
      [...head.cells].forEach((one, j) => one.setAttribute("aria-sort",
        j === sort.by ? (sort.down ? "descending" : "ascending") : "none"));
      refresh();
    });
    cell.append(button);
    head.append(cell);
  });
  document.querySelectorAll("button[data-status]").forEach((button) => {
    button.addEventListener("click", () => {
      status = status === button.dataset.status ? "" : button.dataset.status;
      document.querySelectorAll("button[data-status]").forEach((one) =>
        one.setAttribute("aria-pressed", one.dataset.status === status));
      refresh();
    });
  });
  search.addEventListener("input", refresh);
  scroller.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  window.addEventListener("resize", draw);
  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-place]");
    if (line) { choose(Number(line.dataset.place)); grid.focus({ preventScroll: true }); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) {
      if (event.key === "Escape") { search.value = ""; refresh(); grid.focus({ preventScroll: true }); }
      else if (event.key === "Enter" || event.key === "ArrowDown") { grid.focus({ preventScroll: true }); event.preventDefault(); }
      return;
    }
    const page = Math.max(1, Math.floor(scroller.clientHeight / ROW) - 2);
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (event.key in moves && (event.target === grid || event.target === document.body)) {
      choose(Math.min(shown.length - 1, Math.max(0, chosen + moves[event.key])));
    } else if (event.key === "Home") choose(0);
    else if (event.key === "End") choose(shown.length - 1);
    else if (event.key === "n") nextOpen(1);
    else if (event.key === "N") nextOpen(-1);
    else if (event.key === "/") search.focus();
    else return;
    event.preventDefault();
  });

  refresh();
  const asked = decodeURIComponent(location.hash.slice(1));
  if (asked) choose(shown.findIndex((row) => row.i === asked));
  document.getElementById("live").hidden = false;
})();
