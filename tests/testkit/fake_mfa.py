"""A stand-in for the Montreal Forced Aligner: ``python fake_mfa.py COMMAND ...``.

It is called with MFA's own arguments. FAKE_MFA names a JSON file: version, code (exit code),
sleep_s, say, textgrids (stem to the text that it writes; ``*`` for any), log (file that gets a
line of JSON per call), speaker (subfolder, as MFA creates per speaker).
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

plan = json.loads(Path(os.environ["FAKE_MFA"]).read_text(encoding="utf-8"))
command, *arguments = sys.argv[1:]
if command == "version":
    sys.stdout.write(plan.get("version", "3.4.3") + "\n")
    sys.exit(plan.get("version_code", 0))
flags = {"--clean", "--final_clean"}
positional, options, rest = [], {}, list(arguments)
while rest:
    one = rest.pop(0)
    if one in flags:
        options[one] = True
    elif one.startswith("-"):
        options[one] = rest.pop(0)
    else:
        positional.append(one)
root = Path(os.environ["MFA_ROOT_DIR"])
is_one = command.startswith("align_one")
sounds = [Path(positional[0])] if is_one else sorted(Path(positional[0]).glob("*.wav"))
texts = [Path(positional[1])] if is_one else sorted(Path(positional[0]).glob("*.lab"))
missing = [str(path) for path in [*sounds, *texts] if not path.is_file()]
with Path(plan["log"]).open("a", encoding="utf-8") as log:
    call = {
        "command": command,
        "positional": positional,
        "options": options,
        "root": str(root),
        "root_is_empty": [path.name for path in root.iterdir()] in ([], ["pretrained_models"]),
        "models": sorted(path.name for path in (root / "pretrained_models").glob("*")),
        "texts": [path.read_text(encoding="utf-8") for path in texts if path.is_file()],
    }
    log.write(json.dumps(call) + "\n")
sys.stdout.write(plan.get("say", "") + "\n")
sys.stdout.flush()
time.sleep(plan.get("sleep_s", 0))
if missing or len(positional) != (5 if is_one else 4):
    sys.exit(2)
if plan.get("code", 0) < 0:
    os.kill(os.getpid(), signal.SIGKILL)
if plan.get("code", 0):
    sys.exit(plan["code"])
grids = plan.get("textgrids", {})
for sound in sounds:
    text = grids.get(sound.stem, grids.get("*"))
    if text is None:
        continue
    out = Path(positional[-1])
    if not is_one:
        out = out / plan.get("speaker", "") / f"{sound.stem}.TextGrid"
        out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
