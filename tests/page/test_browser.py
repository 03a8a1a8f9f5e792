"""The page in a real browser: it works without a network, by keyboard, on a phone and on paper."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

DONATED = "arrays/claims-donated-and-read"
ALLOWED = ["the same with none in place of b as read entry 1"]


@pytest.fixture
def opened(browser: Any, page_of: Any) -> Any:
    browser.set_window_size(1200, 900)
    browser.get("about:blank")
    browser.get(page_of(DONATED))
    return browser


def current(browser: Any) -> str:
    return str(browser.find_element(By.CSS_SELECTOR, "ol.steps [aria-current=step]").get_attribute("id"))


def shown(browser: Any) -> list[str]:
    sections = browser.find_elements(By.CSS_SELECTOR, ".panel section")
    return [section.get_attribute("data-step") for section in sections if section.is_displayed()]


def test_it_opens_at_the_last_refusal(opened: Any) -> None:
    """The refused step is what somebody came for."""
    assert current(opened) == "step-7"
    assert shown(opened) == ["6"]


def test_clicking_a_step_shows_that_step_alone(opened: Any) -> None:
    """In the list."""
    opened.find_element(By.ID, "step-2").click()
    assert (current(opened), shown(opened)) == ("step-2", ["1"])


def test_a_refused_step_shows_what_was_allowed(opened: Any) -> None:
    """Beside the rule that refused it, and there alone."""
    shown_there = [each for each in opened.find_elements(By.CSS_SELECTOR, ".allowed li") if each.is_displayed()]
    assert [each.text for each in shown_there] == ALLOWED
    opened.find_element(By.ID, "step-2").click()
    assert not any(each.is_displayed() for each in opened.find_elements(By.CSS_SELECTOR, ".allowed"))


def test_clicking_a_column_shows_its_step(opened: Any) -> None:
    """In the drawing."""
    opened.execute_script("document.querySelector('.column[data-step=\"3\"]').dispatchEvent(new MouseEvent('click'))")
    assert shown(opened) == ["3"]


@pytest.mark.parametrize(
    ("key", "step"),
    [(Keys.ARROW_DOWN, "step-8"), (Keys.ARROW_UP, "step-6"), (Keys.HOME, "step-1"), (Keys.END, "step-12")],
)
def test_keys_move_between_steps(opened: Any, key: str, step: str) -> None:
    """And the focus goes along."""
    opened.find_element(By.TAG_NAME, "body").send_keys(key)
    assert current(opened) == step
    assert opened.switch_to.active_element.get_attribute("id") == step


def test_the_address_remembers_the_step(opened: Any) -> None:
    """A link to a step opens there."""
    address = opened.current_url.partition("#")[0]
    opened.get("about:blank")
    opened.get(f"{address}#step-4")
    assert current(opened) == "step-4"


def test_hovering_tells_what_a_memory_was(opened: Any) -> None:
    """Each cell has words of its own."""
    titles = [title.get_attribute("textContent") for title in opened.find_elements(By.CSS_SELECTOR, ".cell title")]
    assert any("claimed 3 times" in title for title in titles)


def test_a_phone_needs_no_sideways_scrolling(opened: Any) -> None:
    """At 400 pixels nothing but the drawing is wider than the screen."""
    opened.set_window_size(400, 800)
    wide = opened.execute_script("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide


def test_nothing_is_fetched(opened: Any) -> None:
    """The page is one file: no request leaves it."""
    fetched = opened.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert fetched == []


def test_printing_shows_every_step(opened: Any) -> None:
    """On paper nothing is hidden."""
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert len(shown(opened)) == 12
    finally:
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_small_change_of_data_changes_the_picture(browser: Any, page_of: Any) -> None:
    """Two traces that differ in one fact are two pictures; one trace is one picture."""
    browser.set_window_size(1200, 900)
    pictures = []
    for name in (
        "arrays/array-reach-before-alignment",
        "arrays/array-reach-counts-bits",
        "arrays/array-reach-before-alignment",
    ):
        browser.get("about:blank")
        browser.get(page_of(name))
        pictures.append(browser.get_screenshot_as_png())
    assert pictures[0] != pictures[1]
    assert pictures[0] == pictures[2]


def test_contexts_that_came_later_are_faint(browser: Any, page_of: Any) -> None:
    """The tree follows the step that is shown."""
    browser.get(page_of("defects/ledger-allowance"))
    browser.find_element(By.ID, "step-16").click()
    faint = browser.find_elements(By.CSS_SELECTOR, ".later strong")
    assert [each.text for each in faint] == ["c27", "c28, c31"]
