(() => {
  "use strict";
  const cards = [...document.querySelectorAll(".utterance")];
  const key = "syncaudit-labels-" + document.body.dataset.sheet;
  let labels = {};
  try { labels = JSON.parse(localStorage.getItem(key)) || {}; } catch { /* no storage: labels live as long as the page */ }
  let context = null;
  let playing = null; // {card, source, from, to, began, cell}
  let current = 0;

  function bufferOf(card) {
    if (!card.sound) {
      const bytes = Uint8Array.from(atob(card.dataset.pcm), (c) => c.charCodeAt(0));
      const samples = new Int16Array(bytes.buffer);
      card.sound = context.createBuffer(1, Math.max(1, samples.length), Number(card.dataset.rate));
      card.sound.getChannelData(0).set(Float32Array.from(samples, (x) => x / 32768));
    }
    return card.sound;
  }

  function stop() {
    if (!playing) return 0;
    const { card, source, from, began, cell } = playing;
    const at = from + context.currentTime - began;
    playing = null;
    source.onended = null;
    source.stop();
    card.querySelector(".play").textContent = "▶ Play";
    if (cell) cell.classList.remove("is-playing");
    return at;
  }

  function play(card, from, to, cell) {
    stop();
    context = context || new AudioContext();
    context.resume();
    const seconds = Number(card.dataset.seconds);
    from = from >= seconds - 0.01 ? 0 : from;
    const source = context.createBufferSource();
    source.buffer = bufferOf(card);
    source.connect(context.destination);
    source.start(0, from, Math.max(0.005, to - from));
    playing = { card, source, from, to, began: context.currentTime, cell };
    source.onended = () => { stop(); card.resume = cell ? from : 0; place(card, cell ? from : 0); };
    card.querySelector(".play").textContent = "❚❚ Pause";
    if (cell) cell.classList.add("is-playing");
    requestAnimationFrame(follow);
  }

  function place(card, at) {
    const head = card.querySelector(".playhead");
    head.hidden = false;
    head.style.left = 100 * Math.min(1, at / Number(card.dataset.seconds)) + "%";
  }

  function follow() {
    if (!playing) return;
    place(playing.card, Math.min(playing.to, playing.from + context.currentTime - playing.began));
    requestAnimationFrame(follow);
  }

  function toggle(card) {
    if (playing && playing.card === card) { card.resume = stop(); place(card, card.resume); return; }
    play(card, card.resume || 0, Number(card.dataset.seconds), null);
  }

  function choose(index, moves) {
    if (!cards.length) return;
    current = Math.max(0, Math.min(cards.length - 1, index));
    cards.forEach((card, k) => card.classList.toggle("is-current", k === current));
    if (moves) {
      stop();
      cards[current].focus({ preventScroll: true });
      cards[current].scrollIntoView({ block: "nearest", behavior: "smooth" });
    }
  }

  function show(card) {
    for (const button of card.querySelectorAll(".label"))
      button.setAttribute("aria-pressed", String(button.value === labels[card.dataset.index]));
    document.getElementById("done").textContent = Object.keys(labels).length;
  }

  function mark(card, label) {
    const index = card.dataset.index;
    if (labels[index] === label) delete labels[index]; else labels[index] = label;
    try { localStorage.setItem(key, JSON.stringify(labels)); } catch { /* as above */ }
    show(card);
  }

  function save() {
    const lines = cards.filter((card) => labels[card.dataset.index]).map((card) => JSON.stringify({
      clip_id: card.dataset.clip, source: card.dataset.source,
      start_s: Number(card.dataset.start), end_s: Number(card.dataset.end), label: labels[card.dataset.index],
    }) + "\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    link.download = "labels.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  cards.forEach((card, index) => {
    show(card);
    card.addEventListener("click", (event) => {
      choose(index, false);
      const cell = event.target.closest(".cell");
      const label = event.target.closest(".label");
      const sound = event.target.closest(".sound");
      if (cell) play(card, Number(cell.dataset.from), Number(cell.dataset.to), cell);
      else if (label) mark(card, label.value);
      else if (event.target.closest(".play")) toggle(card);
      else if (sound) {
        const box = sound.getBoundingClientRect();
        const seconds = Number(card.dataset.seconds);
        play(card, ((event.clientX - box.left) / box.width) * seconds, seconds, null);
      }
    });
  });
  document.getElementById("save").addEventListener("click", save);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !cards.length) return;
    const names = [...cards[current].querySelectorAll(".label")].map((button) => button.value);
    if (event.key === " ") toggle(cards[current]);
    else if (event.key === "ArrowRight" || event.key === "ArrowDown" && event.shiftKey) choose(current + 1, true);
    else if (event.key === "ArrowLeft") choose(current - 1, true);
    else if (names[Number(event.key) - 1] !== undefined) mark(cards[current], names[Number(event.key) - 1]);
    else return;
    event.preventDefault();
  });
  choose(0, false);
})();
