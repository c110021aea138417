"""The page in a browser: no requests, no errors, and nothing injected by a name is executed."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest

from syncaudit.model import Verdict
from syncaudit.report import Thumbnail
from testkit.made_rows import drifting, measured, recording, row, write

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
EVIL = "</script><script>window.evil = 1</script>\"'><img src=x onerror='window.evil = 1'>"
RTL = "\u202eתקליט\u202d 🚗 \u2028"
LONG = "x" * 5000


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser):
    """Return a function that opens a page; fail at the end on any forbidden activity."""

    @contextmanager
    def opening(path, *, width=1280, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        context.set_default_timeout(10_000)
        tab = context.new_page()
        requests, complaints = [], []
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: complaints.append(dialog.message))
        tab.goto(path.as_uri())
        yield tab
        context.close()
        assert complaints == []
        assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]

    return opening


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


def shown(tab):
    """Return the names of the clips that the table currently shows."""
    return tab.eval_on_selector_all(
        "#clip-table tbody tr", "rows => rows.map(row => row.cells[1].textContent)"
    )


def mixed(n):
    kinds = list(Verdict)
    rows = [row(f"drive{k % 3}/{k:04d}", kinds[k % 3]) for k in range(n)]
    return [data | {"recording_id": data["clip_id"][:6]} for data in rows]


def test_every_section_is_there_and_fits_every_screen(open_page, path):
    rows = [*drifting(5), measured("good"), measured("dull", Verdict.UNVERIFIED)]
    write(path, rows, recordings=[recording()], stages_s={"read": 1.0, "decode": 2.0})
    for width in (1280, 420):
        for scheme in ("light", "dark"):
            with open_page(path, width=width, scheme=scheme) as tab:
                heads = tab.eval_on_selector_all("h2", "all => all.map(h => h.textContent)")
                assert heads == [
                    "What is wrong, and what to do",
                    "Timestamps and content",
                    "Offsets of each source",
                    "Error budget",
                    "Offsets over time",
                    "Worst clips",
                    "Where the time went",
                    "All clips",
                ]
                assert tab.evaluate("document.documentElement.scrollWidth") == width
                assert tab.locator("#course-table tbody tr").count() == 1
                assert tab.locator("nav a").count() == len(heads)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "No clip has been audited."),
        ([row("only", Verdict.REJECT)], "The clip is rejected."),
        ([row(f"c{k}") for k in range(9)], "No fault was found."),
        (
            [row(f"c{k}", Verdict.UNVERIFIED) for k in range(9)],
            "None of the 9 clips could be verified",
        ),
    ],
    ids=["empty", "one clip", "all pass", "all unverified"],
)
def test_odd_runs_have_a_page_of_their_own(open_page, path, rows, words):
    write(path, rows)
    with open_page(path, width=420) as tab:
        assert words in tab.inner_text("body")
        assert len(tab.query_selector_all("#clip-table tbody tr")) == len(rows)
        assert tab.evaluate("document.documentElement.scrollWidth") == 420


def test_names_of_strangers_run_nothing_and_break_nothing(open_page, path):
    rows = []
    for k, name in enumerate((EVIL, RTL, LONG, "\udcff\x00\x1b[2J", "<!--<script>", "{{ 7 * 7 }}")):
        data = drifting(2, name)[0] | {"clip_id": f"{name}{k}"}
        data["sources"][name] = data["sources"].pop("cam_rear") | {"clock": name}
        data["reasons"][0] |= {"source": name, "message": name}
        data["warnings"][0] |= {"message": name}
        data["pairs"][0] |= {"method": name, "source": name, "diagnostics": {name: 1.0}}
        data["pairs"][1]["why"] = name
        rows.append(data)
    recordings = []
    for name in (EVIL, RTL, LONG):
        made = recording(name)
        made["clocks"][name] = made["clocks"].pop("cam_rear") | {"sources": [name]}
        recordings.append(made)
    policy, stages = {"name": EVIL}, {EVIL: 1.0}
    write(path, rows, recordings=recordings, manifest=EVIL, policy=policy, stages_s=stages)
    with open_page(path, width=420) as tab:
        assert tab.evaluate("window.evil") is None
        assert tab.locator("img").count() == 0
        assert tab.locator("script").count() == 3  # two of data, one program
        assert tab.evaluate("document.documentElement.scrollWidth") == 420
        names = shown(tab)
        assert any(name.startswith(EVIL) for name in names)
        assert any(name.startswith("{{ 7") for name in names)
        for unfold in tab.query_selector_all(".unfold"):
            unfold.click()
        assert tab.locator("td.detail").count() == len(rows)
        assert tab.evaluate("window.evil") is None


def test_clips_are_found_filtered_sorted_and_leafed_through(open_page, path):
    write(path, mixed(300))
    with open_page(path) as tab:
        status = tab.locator("#clip-table .status")
        assert status.inner_text() == "1–50 of 300"
        assert all(int(name[-4:]) % 3 == 1 for name in shown(tab))  # the rejected ones first
        tab.get_by_label("next page").click()
        assert status.inner_text() == "51–100 of 300"
        tab.get_by_label("last page").click()
        assert status.inner_text() == "251–300 of 300"
        assert tab.get_by_label("next page").is_disabled()
        tab.get_by_role("button", name="clip", exact=True).click()
        assert shown(tab)[:2] == ["drive0/0000", "drive0/0003"]
        tab.get_by_role("button", name="clip", exact=True).click()
        assert shown(tab)[0] == "drive2/0299"
        tab.fill("#search", "DRIVE1/")
        assert status.inner_text() == "1–50 of 100"
        tab.fill("#search", "0007")
        assert shown(tab) == ["drive1/0007"]
        tab.fill("#search", "nowhere")
        assert status.inner_text() == "Nothing matches."
        tab.get_by_role("button", name="clear").click()
        tab.get_by_label("✓ pass").uncheck()
        tab.select_option("#by-code", "unobservable")
        assert status.inner_text() == "1–50 of 100"
        tab.select_option("#by-source", "cam_rear")
        assert status.inner_text() == "1–50 of 100"
        tab.get_by_label("? unverified").uncheck()
        assert status.inner_text() == "Nothing matches."


def test_a_cause_leads_to_its_clips(open_page, path):
    write(path, mixed(30))
    with open_page(path) as tab:
        tab.get_by_role("button", name="clips with offset cam_rear").click()
        assert tab.locator("#clip-table .status").inner_text() == "1–10 of 10"
        assert tab.evaluate("document.activeElement.id") == "clips"


def test_everything_is_reached_by_keyboard(open_page, path):
    write(path, mixed(60))
    with open_page(path) as tab:
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.className") == "skip"
        tab.focus("#clip-table .unfold")
        tab.keyboard.press("Enter")
        assert "pixels" in tab.locator("td.detail").inner_text()
        assert tab.get_attribute("#clip-table .unfold", "aria-expanded") == "true"
        tab.keyboard.press("Enter")
        assert tab.locator("td.detail").count() == 0
        tab.focus("#clip-table th:nth-child(2) button")
        tab.keyboard.press("Space")
        assert tab.get_attribute("#clip-table th:nth-child(2)", "aria-sort") == "ascending"


def test_states_are_told_by_glyphs_and_hold_their_contrast(open_page, path):
    write(path, mixed(9))
    for scheme in ("light", "dark"):
        with open_page(path, scheme=scheme) as tab:
            words = tab.eval_on_selector_all(".total", "all => all.map(t => t.innerText)")
            assert [word.split()[1] for word in words] == ["✓", "✕", "?"]
            colours = tab.evaluate(
                """() => [...document.querySelectorAll(".total")].map((total) => [
                  getComputedStyle(total.querySelector(".count")).color,
                  getComputedStyle(total).backgroundColor])"""
            )
            for ink, paper in colours:
                assert _contrast(ink, paper) >= 4.5  # WCAG 2.1, 1.4.3


def _contrast(one, other):
    shades = []
    for colour in (one, other):
        parts = np.array([int(c) / 255 for c in colour[4:-1].split(",")])
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        shades.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(shades) + 0.05) / (min(shades) + 0.05)


def test_images_are_seen(open_page, path):
    jpeg = cv2.imencode(".jpg", np.zeros((90, 160, 3), np.uint8))[1].tobytes()
    frame = Thumbnail(source="cam_rear", jpeg=jpeg, width_px=160, height_px=90, words="frame 3")
    asked = []

    def pictures(clip_id, sources):
        asked.append((clip_id, tuple(sources)))
        return [frame]

    write(
        path, [measured("bad", Verdict.REJECT), row("crashed", Verdict.REJECT)], thumbnails=pictures
    )
    assert asked == [("bad", ("cam_rear",))]  # what killed a worker is not opened again
    with open_page(path) as tab:
        assert tab.evaluate("document.querySelector('img').naturalWidth") == 160
        assert "cam_rear, frame 3" in tab.inner_text("figcaption")


def test_a_hundred_thousand_clips_stay_usable(open_page, path):
    fine, bad = row("fine"), row("bad", Verdict.REJECT)
    fine["sources"].pop("cam_rear")

    class Rows:
        def __len__(self):
            return 100_000

        def __iter__(self):
            for k in range(len(self)):
                yield (bad if k % 5 == 0 else fine) | {"clip_id": f"drive/{k:08d}"}

    page = write(path, Rows())
    assert len(page) < 15e6
    with open_page(path) as tab:
        assert tab.locator("#clip-table .status").inner_text() == "1–50 of 60,000"
        assert "40,000 pass" in tab.locator("#clips").inner_text()
        assert tab.evaluate("document.querySelectorAll('*').length") < 20_000
        tab.fill("#search", "00099995")
        assert shown(tab) == ["drive/00099995"]


def test_thousands_of_recordings_are_a_table(open_page, path):
    recordings = [recording(f"drive{k}") for k in range(1000)]
    write(path, drifting(5, "drive0"), recordings=recordings)
    with open_page(path) as tab:
        assert tab.locator("#course-table .status").inner_text() == "1–20 of 1,000"
        assert tab.locator("details.recording").count() == 6
        assert "The worst 1,000 recordings are listed" in tab.inner_text("#recordings")


def test_the_page_is_one_file(open_page, path):
    write(path, [row("a")])
    moved = path.parent / "elsewhere" / "page.html"
    moved.parent.mkdir()
    path.rename(moved)
    with open_page(Path(moved)) as tab:
        assert shown(tab) == ["a"]
