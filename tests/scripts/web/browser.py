"""A browser, driven over the WebDriver protocol with what Python has. Decides nothing about the page."""

import base64
import json
import time
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    def __init__(self, driver, folder, width=1280, height=900):
        self.driver = driver
        args = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                f"--user-data-dir={folder}/profile", f"--window-size={width},{height}"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": args}, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{made['sessionId']}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.driver + path, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {json.load(error)['value']['message']}") from None

    def on(self, method, path, body=None):
        return self.call(method, self.session + path, body)

    def open(self, url):
        self.on("POST", "/url", {"url": url})

    def run(self, script, *args):
        return self.on("POST", "/execute/sync", {"script": script, "args": list(args)})

    def find(self, selector):
        return self.on("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.on("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.on("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.on("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText || ''", selector)

    def devtools(self, command, **params):
        return self.on("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def log(self, kind):
        return self.on("POST", "/se/log", {"type": kind})

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.on("GET", "/screenshot")))

    def until(self, what, holds, patience=30):
        begun = time.monotonic()
        while True:
            seen = holds()
            if seen:
                return seen
            assert time.monotonic() - begun < patience, f"still not so: {what}\n{self.text('body')[:1500]}"
            time.sleep(0.1)

    def end(self):
        self.on("DELETE", "")
