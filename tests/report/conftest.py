"""A real Chromium for the tests of the report, and the pages it opens."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_run import hostile_run
from synthetic_run import records, summary

from lexproof.report import write

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

DRAWN = "return location.href === arguments[0] && document.readyState === 'complete'"


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium with an empty profile that records its console and its requests."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs chromium and chromedriver on the path (Debian: apt install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    profile: Path = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1280,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield session
    session.quit()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    write(made / "plain.html", summary(records()), records())
    write(made / "hostile.html", *hostile_run())
    write(made / "empty.html", summary([]), [])
    many = records(10_000)
    write(made / "many.html", summary(many), many)
    # one changed character breaks the hash, so the policy must stop the script: what is left is the page without it
    page = (made / "hostile.html").read_text("utf-8")
    (made / "silent.html").write_text(page.replace('"use strict";', '"use  strict";'), "utf-8")
    return made


@pytest.fixture
def open_page(chromium: Any, folder: Path) -> Iterator[Callable[[str], Any]]:
    """Opens a page by name in a fresh state: desktop width, light, logs emptied.

    Afterwards nothing may be on the console, unless a page was opened whose script the policy stops.
    """
    support = pytest.importorskip("selenium.webdriver.support.wait")
    until_drawn = support.WebDriverWait(chromium, 30, poll_frequency=0.02)
    silenced = False

    def opened(name: str) -> Any:
        nonlocal silenced
        silenced = silenced or "silent" in name
        address = (folder / f"{name}.html").as_uri()
        chromium.get(address)
        # on a busy machine `get` may return before the script draws the rows anew: what a test finds then is gone
        until_drawn.until(lambda page: page.execute_script(DRAWN, address))
        return chromium

    metrics = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": light})
    chromium.get("about:blank")
    for log in ("browser", "performance"):
        chromium.get_log(log)
    yield opened
    assert silenced or chromium.get_log("browser") == []
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
