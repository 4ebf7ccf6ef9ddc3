"""Pages in a headless Chromium: measurements of a page as a person sees it, and screenshots."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

PROGRAM = "chromium-headless-shell"
FLAGS = ("--no-sandbox", "--hide-scrollbars", "--disable-gpu", "--allow-file-access-from-files", "--enable-logging=stderr")
TIME_LIMIT = 120

MEASURE = """<!DOCTYPE html><body style="margin:0"><iframe id="page" src="SOURCE" style="border:0;width:WIDTHpx;height:900px"></iframe>
<script>
const luminance = (color) => {
  const parts = color.match(/[\\d.]+/g).slice(0, 3).map((value) => value / 255);
  const linear = parts.map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const background = (element, view) => {
  for (let each = element; each; each = each.parentElement) {
    const color = view.getComputedStyle(each).backgroundColor;
    if (!/, 0\\)$/.test(color)) return color;
  }
  return "rgb(255, 255, 255)";
};
document.getElementById("page").addEventListener("load", (event) => {
  const view = event.target.contentWindow, root = event.target.contentDocument;
  const contrasts = [...root.querySelectorAll("main *")]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
    .map((element) => {
      const [high, low] = [view.getComputedStyle(element).color, background(element, view)].map(luminance).sort((a, b) => b - a);
      return (high + 0.05) / (low + 0.05);
    });
  const found = { width: root.documentElement.scrollWidth, contrast: Math.min(...contrasts), texts: contrasts.length };
  document.body.setAttribute("data-found", JSON.stringify(found));
});
</script>"""
"""A page that shows another one in a frame of this width, and writes what it measures into its own markup."""


def is_installed() -> bool:
    return shutil.which(PROGRAM) is not None


def _run(*arguments: str, dark: bool = False) -> subprocess.CompletedProcess[str]:
    mode = ("--blink-settings=preferredColorScheme=0",) if dark else ("--blink-settings=preferredColorScheme=1",)
    done = subprocess.run([PROGRAM, *FLAGS, *mode, *arguments], capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return done


def measured(page: Path, folder: Path, *, width: int, dark: bool) -> dict[str, Any]:
    """Return the width that the page needs, its lowest contrast of text, and what the console has."""
    wrapper = folder / "measure.html"
    wrapper.write_text(MEASURE.replace("SOURCE", page.as_uri()).replace("WIDTH", str(width)), encoding="utf-8")
    done = _run("--window-size=1300,1000", "--virtual-time-budget=5000", "--dump-dom", wrapper.as_uri(), dark=dark)
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found, done.stdout[:500]
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return {**json.loads(unescape(found[1])), "console": console}


def screenshot(page: Path, image: Path, *, width: int, height: int, dark: bool = False) -> None:
    """Write a picture of the page."""
    _run(f"--window-size={width},{height}", f"--screenshot={image}", page.as_uri(), dark=dark)
