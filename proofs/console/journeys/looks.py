"""A journey in Chinese, in the dark, on a phone: every place of the console, and none wider than its screen."""

from playwright.sync_api import Browser

from proofs.console.journeys.keys import new_key
from proofs.rig.console.calling import called
from proofs.rig.console.place import Place
from proofs.rig.console.visitor import PHONE, Visitor
from tollkeeper.console.places import PLACES
from tollkeeper.console.table import PAGES

WIDTH = "document.documentElement.scrollWidth"


def chinese_dark_and_narrow(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip, size=PHONE, locale="zh-CN", color_scheme="dark", has_touch=True)
    visitor.go("/sign-in")
    assert visitor.page.locator("html").get_attribute("lang") == "zh-Hans"
    visitor.send("/sign-in", email=person.email, password=person.password)
    assert visitor.path == "/"
    _, key = new_key(visitor, "手机")
    called(place, key)
    there = {page.path for page in PAGES if page.method == "GET"}
    for each in PLACES:
        if each.path not in there:
            continue
        assert visitor.go(each.path) == 200
        assert visitor.page.locator("html").get_attribute("data-bs-theme") == "dark"
        assert visitor.page.locator("nav.tabbar").is_visible()
        assert not visitor.page.locator("nav.side").is_visible()
        width = visitor.page.evaluate(WIDTH)
        assert width <= PHONE[0], f"{each.path} is {width} wide"
        assert any("\u4e00" <= letter <= "\u9fff" for letter in visitor.one("h1"))

    visitor.page.locator("nav.tabbar details summary").click()
    assert visitor.page.locator(".more-list a[href='/prices']").is_visible()
    # By hand, whatever the device says: English, then light.
    visitor.page.locator("form[action='/preferences'] button[name=language]").first.click()
    visitor.page.wait_for_function("document.documentElement.lang === 'en'")
    visitor.page.locator("form[action='/preferences'] button[name=theme]").first.click()
    visitor.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    visitor.page.locator("form[action='/preferences'] button[name=theme]").first.click()
    visitor.page.wait_for_function("document.documentElement.getAttribute('data-bs-theme') === 'light'")
    visitor.go("/usage")
    assert visitor.page.locator("html").get_attribute("data-bs-theme") == "light"
    assert visitor.says("手机")
    assert visitor.one("h1") == "Usage"
    assert visitor.complaints == []
    visitor.close()
