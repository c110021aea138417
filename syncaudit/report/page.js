"use strict";
const search = document.getElementById("search");
if (search) {
  const boxes = [...document.querySelectorAll(".filter input[type=checkbox]")];
  const clips = [...document.querySelectorAll("details.clip")];
  const texts = clips.map((clip) => clip.textContent.toLowerCase());
  const refresh = () => {
    const wanted = search.value.trim().toLowerCase();
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    clips.forEach((clip, index) => {
      const visible = verdicts.has(clip.dataset.verdict) && texts[index].includes(wanted);
      clip.hidden = !visible;
      shown += visible;
    });
    document.getElementById("nothing").hidden = shown > 0;
  };
  search.addEventListener("input", refresh);
  boxes.forEach((box) => box.addEventListener("change", refresh));
}
