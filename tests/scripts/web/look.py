"""What a person sees on the page, compared with what `tidegate rollout status -o json` says.

Checks that the page is correct and live, requires authentication, and is usable with the keyboard, a screen reader, a small screen and in dark mode."""

import argparse
import json
import subprocess
import sys
import time

from browser import Browser

TAB, ENTER, RIGHT, END, ESCAPE = "\ue004", "\ue007", "\ue014", "\ue010", "\ue00c"
# Which number of the JSON counts which states of the cells.
COUNTS = {"done": ["Done", "Kept"], "moving": ["Moving"], "soaking": ["Soaking"], "waiting": ["Waiting"], "held": ["Held", "Stalled"],
          "failed": ["Failed"], "timedOut": ["TimedOut"], "leaving": ["Leaving"]}

NAMELESS = """
const named = (one) => (one.getAttribute('aria-label') || one.innerText || one.labels?.[0]?.innerText
  || document.getElementById((one.getAttribute('aria-labelledby') || '').split(' ')[0])?.innerText || '').trim();
return [...document.querySelectorAll('a, button, input, select, [tabindex], [role=img], [role=listbox]')]
  .filter((one) => one.id !== 'main' && !named(one) && one.checkVisibility()).map((one) => one.outerHTML.slice(0, 120));
"""
SHAPE = """
const wrong = [];
const expect = (holds, what) => { if (!holds) wrong.push(what); };
expect(document.documentElement.lang === 'en', 'lang');
expect(document.querySelectorAll('h1').length === 1, 'one h1');
expect(document.querySelectorAll('main').length === 1 && document.querySelectorAll('nav[aria-label]').length === 1, 'landmarks');
expect(document.querySelector('[aria-live]'), 'a live region');
expect(document.title.length > 8, 'a title');
const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
expect(new Set(ids).size === ids.length, 'ids are unique');
for (const name of ['aria-labelledby', 'aria-describedby', 'aria-activedescendant', 'for'])
  for (const one of document.querySelectorAll(`[${name}]`))
    expect(one.getAttribute(name).split(' ').every((id) => ids.includes(id)), `${name} of ${one.id || one.tagName}`);
let level = 1;
for (const one of document.querySelectorAll('h1, h2, h3')) {
  const now = Number(one.tagName[1]);
  expect(now <= level + 1, `headings skip to ${one.innerText}`);
  level = now;
}
expect(![...document.querySelectorAll('script')].some((one) => !one.src || one.textContent.trim()), 'an inline script');
expect(!document.querySelector('style') && ![...document.querySelectorAll('*')].some((one) => one.getAttributeNames().some((name) => name.startsWith('on'))), 'inline style or handler');
expect(![...document.querySelectorAll('[tabindex]')].some((one) => one.tabIndex > 0), 'a tab order of its own');
return wrong;
"""
CONTRAST = """
const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
const behind = (one) => { for (; one; one = one.parentElement) { const colour = getComputedStyle(one).backgroundColor; if (colour !== 'rgba(0, 0, 0, 0)') return colour; } return 'rgb(255, 255, 255)'; };
const low = new Set();
for (const one of document.querySelectorAll('body *')) {
  if (!one.checkVisibility() || ![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
  const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.add(`${one.tagName}.${one.className} ${ratio.toFixed(2)}`);
}
return [...low];
"""
HERE = "const one = document.activeElement; return one.id || one.dataset.rollout || one.tagName;"


def main():
    parser = argparse.ArgumentParser()
    for name in ("page", "driver", "kubeconfig", "tidegate", "folder", "pictures"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    looker = Looker(args)
    try:
        for step in (looker.unauthorized, looker.same, looker.live, looker.keys, looker.shape, looker.screens, looker.closed):
            begun = time.monotonic()
            step()
            print(f"ok {time.monotonic() - begun:5.1f} s  {step.__doc__}")
    finally:
        looker.browser.end()


class Looker:
    def __init__(self, args):
        self.args = args
        self.browser = Browser(args.driver, args.folder)
        self.origin = args.page.rstrip("/")

    def kubectl(self, *words, stdin=""):
        done = subprocess.run(["kubectl", "--kubeconfig", self.args.kubeconfig, *words], input=stdin, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def status(self):
        words = [self.args.tidegate, "rollout", "status", "helloworld", "-o", "json", "--kubeconfig", self.args.kubeconfig]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def enter(self, token):
        self.browser.until("a token is asked for", lambda: self.browser.run("return !document.getElementById('sign-in').hidden"))
        self.browser.type("#token", token + ENTER)

    def shown(self):
        """The content of the page, with the names of the JSON."""
        return self.browser.run("""
            const at = (place, name) => document.querySelector(place)?.dataset[name] ?? '';
            return {name: at('#rollout', 'rollout'), phase: document.getElementById('phase')?.innerText, message: document.getElementById('message').innerText,
              cells: Number(at('#grid', 'cells')), states: Object.fromEntries(at('#grid', 'states').split(' ').filter(Boolean).map((one) => one.split(':'))),
              waves: [...document.querySelectorAll('#waves > li')].map((one) => one.dataset.state),
              listed: [...document.querySelectorAll('#list a')].map((one) => one.dataset.rollout)}""")

    def agrees(self):
        said, shown = self.status(), self.shown()
        cells = {name: sum(int(shown["states"].get(state, 0)) for state in states) for name, states in COUNTS.items()}
        counted = all(said["counts"][name] == count for name, count in cells.items())
        same = (shown["phase"], shown["message"], shown["waves"], shown["cells"]) == (
            said["phase"], said["message"], [wave["state"] for wave in said["waves"]], len(said["clusters"]))
        return said if same and counted else None

    def unauthorized(self):
        """without a valid token, or with a token without permissions, the page shows nothing"""
        for name in ("unprivileged", "reader"):
            self.kubectl("create", "serviceaccount", name)
        self.kubectl("create", "clusterrole", "look", "--verb=get,list,watch", "--resource=*.*")
        self.kubectl("create", "clusterrolebinding", "look", "--clusterrole=look", "--serviceaccount=default:reader")
        self.browser.open(self.origin)
        self.enter("invalid-token")
        self.browser.until("the token is refused", lambda: "does not accept" in self.browser.text("#sign-in-why"))
        assert "helloworld" not in self.browser.text("body")
        self.enter(self.kubectl("create", "token", "unprivileged"))
        self.browser.until("hidden rollouts are counted", lambda: "hidden" in self.browser.text("#list-note"))
        body = self.browser.run("return document.documentElement.outerHTML")
        assert "helloworld" not in body and "cluster1" not in body, body
        self.browser.click("#leave")
        assert self.browser.run("return sessionStorage.length + localStorage.length + document.cookie.length") == 0

    def same(self):
        """the page says what rollout status -o json says"""
        self.enter(self.kubectl("create", "token", "reader"))
        said = self.browser.until("page and JSON agree on the end", lambda: (said := self.agrees()) and said["phase"] == "Done" and said)
        assert self.shown()["listed"] == ["helloworld"], self.shown()
        self.clusters = len(said["clusters"])

    def live(self):
        """a change arrives by itself, and again page and JSON agree"""
        self.browser.run("window.same = true")
        at_once = max(self.clusters // 6, 1)
        strategy = [{"op": "replace", "path": "/spec/installStrategy/placements/0/rolloutStrategy",
                     "value": {"type": "Progressive", "progressive": {"maxConcurrency": at_once, "minSuccessTime": "10m"}}}]
        self.kubectl("patch", "cma", "helloworld", "--type=json", "-p", json.dumps(strategy))
        config = {"spec": {"customizedVariables": [{"name": "GREETING", "value": "ahoy"}]}}
        self.kubectl("patch", "addondeploymentconfig", "helloworld", "-n", "open-cluster-management", "--type=merge", "-p", json.dumps(config))
        self.browser.until("clusters soak, on the page too", lambda: (said := self.agrees()) and said["counts"]["soaking"] == at_once)
        assert self.browser.run("return window.same") is True, "the page was not loaded again"
        assert self.browser.text("#changes ins"), "what changes is shown"
        self.browser.until("events are shown", lambda: self.browser.run("return document.querySelectorAll('#events time').length"))

    def keys(self):
        """keys reach everything, and say why a cluster is where it is"""
        self.browser.run("document.activeElement.blur(); scrollTo(0, 0)")
        reached = []
        for _ in range(25):
            self.browser.press(TAB)
            reached.append(self.browser.run(HERE))
        for wanted in ("skip", "leave", "helloworld", "filter", "cluster", "grid"):
            assert wanted in reached, f"{wanted} is not among {reached}"
        self.browser.run("document.getElementById('grid').focus()")
        self.browser.press(END)
        self.browser.until("the last cluster is said", lambda: f"cluster{self.clusters}:" in self.browser.run("return document.getElementById('cell').textContent"))
        assert self.browser.run("return document.getElementById('cell').getAttribute('aria-posinset')") == str(self.clusters)
        self.browser.press(ENTER)
        last = f"cluster{self.clusters}"
        said = self.browser.until("the reasons come", lambda: self.browser.run("return document.getElementById('why').dataset.cluster") == last and self.browser.text("#why"))
        assert last in said and "Cannot determine" not in said, said
        command = [self.args.tidegate, "why", "helloworld", "--cluster", last, "-o", "json", "--kubeconfig", self.args.kubeconfig]
        why = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)
        page = self.browser.run("""return fetch(arguments[0], {headers: {Authorization: 'Bearer ' + sessionStorage.getItem('tidegate-token')}})
            .then((answer) => answer.json()).then((told) => told.answer)""", f"/api/why/{last}/helloworld")
        assert page.keys() == why.keys(), (page, why)
        self.browser.press(ESCAPE)
        assert self.browser.run(HERE) == "grid"

    def shape(self):
        """names, headings, roles and contrast are as they should be; nothing inline, nothing from elsewhere"""
        assert not (nameless := self.browser.run(NAMELESS)), nameless
        assert not (wrong := self.browser.run(SHAPE)), wrong
        assert not (low := self.browser.run(CONTRAST)), low
        asked = self.browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
        assert asked and all(one.startswith(self.origin + "/") for one in asked), asked
        errors = [one for one in self.browser.log("browser") if one["level"] == "SEVERE" and " 401 " not in one["message"]]
        assert not errors, errors

    def screens(self):
        """small screens scroll down only; dark and still are heard"""
        self.shoot("web-light.png")
        for width in (360, 1280):
            self.browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
            time.sleep(0.3)
            wide = self.browser.run("return [document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1] == width, wide
        self.browser.devtools("Emulation.clearDeviceMetricsOverride")
        light = self.browser.run("return getComputedStyle(document.body).backgroundColor")
        features = [{"name": "prefers-color-scheme", "value": "dark"}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.browser.devtools("Emulation.setEmulatedMedia", features=features)
        time.sleep(0.3)
        dark = self.browser.run("return getComputedStyle(document.body).backgroundColor")
        assert (light, dark) == ("rgb(255, 255, 255)", "rgb(13, 17, 23)"), (light, dark)
        assert not (low := self.browser.run(CONTRAST)), low
        moving = self.browser.run("return [...document.querySelectorAll('.bar i')].map((one) => getComputedStyle(one).transitionDuration)")
        assert moving and set(moving) == {"0s"}, moving
        self.shoot("web-dark.png")
        drawn = self.browser.run("return performance.getEntriesByName('grid-draw').map((one) => one.duration)")
        print(f"   {self.clusters} cells drawn {len(drawn)} times, in {max(drawn):.1f} ms at most", file=sys.stderr)

    def shoot(self, name):
        if self.args.pictures:
            self.browser.run("document.activeElement.blur(); scrollTo(0, 0)")
            time.sleep(0.3)
            self.browser.picture(f"{self.args.pictures}/{name}")

    def closed(self):
        """the page forgets everything with its token"""
        self.browser.click("#leave")
        self.browser.until("the cells are gone", lambda: "cluster" not in self.browser.run("return document.getElementById('cell').textContent.replace('no cluster', '')"))
        body = self.browser.run("return document.title + document.body.outerHTML")
        assert "helloworld" not in body and "cluster1" not in body and "cluster24" not in body, body
        assert self.browser.run("return sessionStorage.length") == 0


main()
