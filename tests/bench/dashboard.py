"""A live page under load: a search of 1,000 results a second, looked at by a browser for as long as you like.

    dashboard.py TUNE [--minutes 60] [--rate 1000]      takes that long; needs chromium

Its driver is killed after a third of the time and resumed, and interrupted and resumed after two thirds. Each minute a
line says what browser and server take, how old what the page shows is, and the longest task of the page. At the end the page must say
what `tune status --json` does.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
from browser import Browser  # noqa: E402
from dashboard_server import Server  # noqa: E402

AT_ONCE = 4
#: The table is sorted by the last value, so that its first row tells how old the newest result is that the page shows.
PROGRAM = """import sys, time
began, rate, count = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
start = time.time()
for step in range(count):
    time.sleep(max(0, start + step / rate - time.time()))
    print(f"age={time.time() - began:.3f}", flush=True)
"""
WATCH = """
window.watched = {longest_ms: 0, tasks: 0, ages: []};
new PerformanceObserver((list) => { for (const task of list.getEntries()) {
  watched.tasks += 1;
  watched.longest_ms = Math.max(watched.longest_ms, task.duration);
} }).observe({type: 'longtask'});
setInterval(() => {
  const cell = document.querySelector('[aria-label=trials] tbody tr:first-child td:nth-child(%d)');
  if (cell !== null) watched.ages.push(Date.now() / 1000 - %f - Number(cell.innerText.replaceAll(',', '')));
}, 97);
"""


def resident_mb(pid: int) -> float:
    """Of the process and all below it."""
    total = 0.0
    try:
        fields = pathlib.Path(f"/proc/{pid}/statm").read_text().split()
        # Shared pages are those of its program and its parent.
        total += (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGESIZE") / 1e6
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                total += resident_mb(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return total


def cpu_s(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(words: list[str], folder: str) -> subprocess.Popen[bytes]:
    with open(os.path.join(folder, "driver.log"), "ab") as log:
        return subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def watch(tune: str, folder: str, minutes: float, rate: float) -> bool:
    os.environ["TUNE"] = tune
    began = time.time()
    steps = 2000
    trials = int(minutes * 60 * rate / steps)
    pathlib.Path(folder, "program.py").write_text(PROGRAM)
    pathlib.Path(folder, "spec.json").write_text(json.dumps({
        "name": "load", "storage_path": folder, "metric": "age", "mode": "min", "num_samples": trials, "max_concurrent_trials": AT_ONCE,
        "resources_per_trial": {}, "searcher": "random",
        "trainable": {"command": [sys.executable, "program.py", str(began), str(rate / AT_ONCE), str(steps), "${args_json}"], "plain": {}},
        "param_space": {"x": {"uniform": [0, 1]}, "y": {"choice": ["a", "b"]}}}))
    driver = start([tune, "run", "spec.json", "--progress", "none"], folder)
    while not os.path.exists(os.path.join(folder, "load", "CURRENT")):
        time.sleep(0.05)
    server = Server(folder, "load")
    browser = Browser()
    browser.ask("Page.navigate", url=f"http://127.0.0.1:{server.port}/#token={server.token}")
    browser.wait("document.querySelectorAll('[aria-label=trials] tbody tr').length > 0")
    titles = browser.value("[...document.querySelectorAll('[aria-label=trials] thead th')].map((each) => each.innerText)")
    last = 1 + next(i for i, title in enumerate(titles) if title.startswith("last age"))
    header = f"document.querySelector('[aria-label=trials] thead th:nth-child({last})')"
    while browser.value(f"{header}.getAttribute('aria-sort')") != "descending":
        browser.value(f"{header}.querySelector('button').click()")
        time.sleep(0.2)
    browser.value(WATCH % (last, began))

    def status() -> dict[str, Any]:
        return json.loads(subprocess.run([tune, "status", "load", "--json"], cwd=folder, capture_output=True, check=True).stdout)

    kills = [signal.SIGKILL, signal.SIGINT]
    ages: list[float] = []
    minute = 0
    while driver.poll() is None:
        time.sleep(min(1, minutes))
        passed = time.time() - began
        if kills and passed > minutes * 60 * (3 - len(kills)) / 3:
            driver.send_signal(kills.pop(0))
            driver.wait()
            driver = start([tune, "resume", "load", "--progress", "none"], folder)
        if passed // 60 == minute and driver.poll() is None:
            continue
        minute = int(passed // 60)
        browser.ask("HeapProfiler.collectGarbage")
        seen = browser.value("(() => { const seen = watched; watched = {longest_ms: 0, tasks: 0, ages: []}; return seen; })()")
        ages += seen["ages"]
        heap_mb = browser.value("performance.memory.usedJSHeapSize") / 1e6
        print(f"{minute:3} min: {status()['results']} results; page {heap_mb:.0f} MB of heap, browser {resident_mb(browser.process.pid):.0f} MB, "
              f"server {resident_mb(server.process.pid):.0f} MB and {100 * cpu_s(server.process.pid) / passed:.1f} % of a core; "
              f"shown p50 {quantile(seen['ages'], 0.5):.2f} s, p95 {quantile(seen['ages'], 0.95):.2f} s old; "
              f"longest task {seen['longest_ms']:.0f} ms, {seen['tasks']} over 50 ms", flush=True)
    browser.wait("document.querySelector('[role=status]').innerText === 'It has finished.'")
    time.sleep(1)
    told = status()
    facts = browser.value("Object.fromEntries([...document.querySelectorAll('.facts dt')].map((each) => [each.innerText, each.nextElementSibling.innerText]))")
    lead = browser.value("document.querySelector('.lead').innerText")
    print(f"in all: shown p50 {quantile(ages, 0.5):.2f} s, p95 {quantile(ages, 0.95):.2f} s old")
    print("the page says:", json.dumps(facts))
    print("the status says:", json.dumps({key: told[key] for key in ("results", "trials", "ends", "best")}))
    print("the browser's console:", json.dumps(browser.said)[:2000])
    shown = {key: int(text.replace(",", "").replace("\u202f", "")) for key, text in facts.items() if key in ("results", "completed")}
    is_right = shown["results"] == told["results"] and shown["completed"] == told["ends"]["completed"] and told["best"]["trial_id"] in lead
    browser.close()
    server.close()
    return is_right and not browser.said


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("tune")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=1000, help="results a second, of all trials")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tune-bench-") as folder:
        return 0 if watch(os.path.abspath(arguments.tune), folder, arguments.minutes, arguments.rate) else 1


if __name__ == "__main__":
    sys.exit(main())
