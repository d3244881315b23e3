"""What a reader does with the page, as functions of a browser session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Open = Callable[[str], Any]
"""Opens one of the pages by name and gives the session."""


def resize(driver: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def media(driver: Any, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def find(driver: Any, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def ids(driver: Any) -> list[int]:
    script = "return [...document.querySelectorAll('#rows tr')].map(row => Number(row.dataset.id))"
    return list(driver.execute_script(script))


def click(driver: Any, selector: str) -> None:
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", find(driver, selector))
    find(driver, selector).click()


def choose(driver: Any, selector: str, value: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(find(driver, selector)).select_by_value(value)
