"""What a person sees on the page, compared with what `tidegate rollout status -o json` says.

Checks that the page is correct and live, requires authentication, does what its user may do and nothing else, and is usable with the keyboard, a
screen reader, a small screen and in dark mode."""

import argparse
import json
import subprocess
import sys
import time

from browser import Browser

GROUP = "addon.open-cluster-management.io"
TAB, ENTER, RIGHT, END, ESCAPE = "\ue004", "\ue007", "\ue014", "\ue010", "\ue00c"
# Which number of the JSON counts which states of the cells.
COUNTS = {"done": ["Done", "Kept"], "moving": ["Moving"], "finishing": ["Finishing"], "soaking": ["Soaking"], "waiting": ["Waiting"], "held": ["Held", "Stalled"],
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
        for step in (looker.unauthorized, looker.same, looker.live, looker.keys, looker.pages, looker.shape, looker.screens, looker.steers, looker.approves,
                     looker.retries, looker.returns, looker.places, looker.freezes, looker.foreign, looker.closed):
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
        for name in ("unprivileged", "reader", "operator"):
            self.kubectl("create", "serviceaccount", name)
        self.kubectl("create", "clusterrole", "look", "--verb=get,list,watch", "--resource=*.*")
        self.kubectl("create", "clusterrolebinding", "look", "--clusterrole=look", "--serviceaccount=default:reader", "--serviceaccount=default:operator")
        written = ("addonrollouts.tidegate.io", "rolloutapprovals.tidegate.io", f"addondeploymentconfigs.{GROUP}", f"clustermanagementaddons.{GROUP}")
        self.kubectl("create", "clusterrole", "steer", "--verb=create,patch", *(f"--resource={one}" for one in written))
        self.kubectl("create", "clusterrole", "freeze", "--verb=create,patch,delete", "--resource=rolloutfreezes.tidegate.io")
        for role in ("steer", "freeze"):
            self.kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", "--serviceaccount=default:operator")
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
        for _ in range(40):
            self.browser.press(TAB)
            reached.append(self.browser.run(HERE))
        for wanted in ("skip", "to-fleet", "to-freezes", "leave", "find", "sort", "helloworld", "export", "filter", "cluster", "grid"):
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
        assert self.browser.run("return location.hash") == f"#/helloworld@{last}"
        self.browser.press(ESCAPE)
        assert self.browser.run(HERE) == "grid"
        self.browser.run("document.activeElement.blur()")
        self.browser.press("/")
        assert self.browser.run(HERE) == "find"

    def pages(self):
        """the changed fields, the fleet, a cluster, links to them and the exported file have what the hub has"""
        fields = "[...document.querySelectorAll('#changes .fields li')].map((one) => one.innerText)"
        greeting = 'spec.customizedVariables[GREETING].value "hello" \u2192 "ahoy"'
        self.browser.until("the changed field is shown", lambda: greeting in self.browser.run(f"return {fields}"))
        self.browser.run("window.saved = ''; const made = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return made(blob); }")
        self.browser.click("#export")
        saved = self.browser.until("a file is offered", lambda: self.browser.run("return window.saved"))
        last = f"cluster{self.clusters}"
        assert all(part in saved for part in (f"<td>{last}</td>", "GREETING", "system:serviceaccount:default:reader")), saved
        assert "<script" not in saved and "src=" not in saved and "href=" not in saved, saved
        self.browser.click("#to-fleet")
        rows = "[...document.querySelectorAll('#fleet-rows tr')].map((one) => one.innerText.replaceAll('\\t', ' '))"
        found = self.browser.until("the fleet is shown", lambda: self.browser.run(f"return {rows}"))
        assert len(found) == self.clusters and sum("soaking" in row for row in found) == max(self.clusters // 6, 1), found
        self.browser.type("#fleet-find", last)
        assert len(self.browser.run(f"return {rows}")) == 1
        self.shape()
        self.browser.click("#fleet-rows th a")
        self.browser.until("the cluster is shown", lambda: self.browser.run("return document.querySelector('#cluster-rollouts li')?.dataset.rollout") == "helloworld")
        assert self.browser.run("return location.hash") == f"#cluster/{last}"
        self.shape()
        self.browser.open(f"{self.origin}/#/helloworld@cluster3")
        self.browser.until("a link opens a cluster", lambda: self.browser.text("#one-name") == "cluster3")
        self.browser.click("#close-one")

    def shape(self):
        """names, headings, roles and contrast are as they should be; nothing inline, nothing from elsewhere"""
        assert not (nameless := self.browser.run(NAMELESS)), nameless
        assert not (wrong := self.browser.run(SHAPE)), wrong
        assert not (low := self.browser.run(CONTRAST)), low
        asked = self.browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
        assert asked and all(one.startswith(self.origin + "/") for one in asked), asked
        errors = [one for one in self.browser.log("browser") if one["level"] == "SEVERE" and not any(status in one["message"] for status in (" 401 ", " 403 "))]
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

    def user(self, name):
        self.browser.click("#leave")
        self.enter(self.kubectl("create", "token", name))
        self.browser.until("the rollout is shown", lambda: self.browser.text("#actions"))

    def dialog(self, verb, state, within="#rollout"):
        selector = f"{within} [data-verb={verb}]"
        self.browser.until(f"{verb} is offered", lambda: self.browser.run("return !!document.querySelector(arguments[0])", selector))
        self.browser.click(selector)
        return self.planned(verb, state)

    def planned(self, verb, state):
        shown = "return [document.getElementById('act').dataset.state, document.getElementById('act-plan').innerText]"
        return self.browser.until(f"the dry run of {verb} is {state}", lambda: (now := self.browser.run(shown))[0] == state and now[1])

    def act(self, verb, done, reason="", command="", within="#rollout"):
        """An action: the hub refuses it to the reader, and does it for the operator."""
        self.user("reader")
        refused = self.dialog(verb, "refused", within)
        assert "the hub does not allow system:serviceaccount:default:reader to " in refused, refused
        assert self.browser.run("return document.getElementById('act-do').disabled")
        self.browser.press(ESCAPE)
        self.user("operator")
        planned = self.dialog(verb, "ready", within)
        assert f"helloworld: {done} (dry run)" in planned and "would " in planned, planned
        if reason:
            self.browser.type("#act-reason", reason + TAB)
            self.browser.until("the dry run has the reason", lambda: reason in self.browser.text("#act-plan") or verb in ("approve", "reject"))
        self.browser.until("it can be done", lambda: not self.browser.run("return document.getElementById('act-do').disabled"))
        assert f"tidegate rollout {verb} helloworld{command}" in self.browser.text("#act-command"), self.browser.text("#act-command")
        self.browser.click("#act-do")
        self.browser.until(f"{verb} is done", lambda: self.browser.text("#done").startswith(f"helloworld: {done}"))
        assert "(dry run)" not in self.browser.text("#done")

    def configure(self, greeting):
        config = {"spec": {"customizedVariables": [{"name": "GREETING", "value": greeting}]}}
        self.kubectl("patch", "addondeploymentconfig", "helloworld", "-n", "open-cluster-management", "--type=merge", "-p", json.dumps(config))

    def settings(self, spec):
        self.kubectl("patch", "addonrollout", "helloworld", "--type=merge", "-p", json.dumps({"spec": spec}))

    def phase(self, phase):
        self.browser.until(f"the page shows {phase}", lambda: self.browser.text("#phase") == phase, patience=60)

    def steers(self):
        """pause, resume, promote and undo: with the right to, and without"""
        self.act("pause", "paused", "INC-42", " --reason INC-42")
        self.browser.until("the reason of the pause is shown", lambda: "INC-42" in self.browser.text("#facts"))
        author = "set by system:serviceaccount:default:operator (tidegate-web-pause) at "
        self.browser.until("the user of the pause is shown", lambda: author in self.browser.text("#facts"))
        self.act("resume", "resumed")
        self.act("promote", "promoted")
        at_once = max(self.clusters // 6, 1)
        self.browser.until("soak times have ended", lambda: self.status()["counts"]["done"] == at_once)
        self.act("undo", "rolled back")
        strategy = [{"op": "replace", "path": "/spec/installStrategy/placements/0/rolloutStrategy", "value": {"type": "All"}}]
        self.kubectl("patch", "cma", "helloworld", "--type=json", "-p", json.dumps(strategy))
        self.phase("Done")
        for verb, words in (("promote", ["addonrollout", "helloworld"]), ("undo", ["addondeploymentconfig", "helloworld", "-n", "open-cluster-management"])):
            managers = self.kubectl("get", *words, "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}").split()
            assert f"tidegate-web-{verb}" in managers, managers

    def approves(self):
        """approve and reject: with the right to, and without; the hub records the user"""
        self.kubectl("label", "managedcluster", "--all", "ring=prod")
        self.kubectl("label", "managedcluster", "cluster1", "ring=canary", "--overwrite")
        group = lambda name: {"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": name}}}}
        groups = {"spec": {"decisionStrategy": {"groupStrategy": {"decisionGroups": [group("canary"), group("prod")]}}}}
        place = self.kubectl("get", "cma", "helloworld", "-o", "jsonpath={.spec.installStrategy.placements[0].name}")
        self.kubectl("patch", "placement", place, "-n", "open-cluster-management", "--type=merge", "-p", json.dumps(groups))
        strategy = [{"op": "replace", "path": "/spec/installStrategy/placements/0/rolloutStrategy", "value": {"type": "ProgressivePerGroup"}}]
        self.kubectl("patch", "cma", "helloworld", "--type=json", "-p", json.dumps(strategy))
        self.settings({"approvalBefore": ["prod"]})
        self.configure("bonjour")
        self.browser.until("the approval is shown", lambda: "prod" in self.browser.text("#approvals"))
        self.act("reject", "rejected", "errors in canary", f" --placement open-cluster-management/{place} --group prod --content ")
        self.browser.until("the rejection is shown", lambda: "Rejected" in self.browser.text("#approvals"))
        author = "Rejected by system:serviceaccount:default:operator"
        self.browser.until("the author of the decision is shown", lambda: author in self.browser.text("#settings") and "errors in canary" in self.browser.text("#reasons"))
        self.act("approve", "approved", "CHG-1234")
        self.phase("Done")
        decision = json.loads(self.kubectl("get", "rolloutapprovals", "-o", "jsonpath={.items[0].spec.decision}"))
        assert (decision["by"], decision["reason"]) == ("system:serviceaccount:default:operator", "CHG-1234"), decision

    def retries(self):
        """retry: with the right to, and without"""
        self.settings({"onFailure": "Undo", "approvalBefore": []})
        self.kubectl("annotate", "managedcluster", "cluster1", "simulated-cluster/faults=apply-failure:quota")
        self.configure("salut")
        self.browser.until("the change is rolled back", lambda: self.status()["undone"])
        self.kubectl("annotate", "managedcluster", "cluster1", "simulated-cluster/faults-")
        self.act("retry", "retry requested")
        self.phase("Done")

    def returns(self):
        """the revisions, and undo to one of them"""
        button = "#revisions [data-verb=undo]"
        self.browser.until("the revisions are shown", lambda: self.browser.run("return !!document.querySelector(arguments[0])", button))
        assert "Revision 1" in self.browser.text("#revisions") and "last known good" in self.browser.text("#revisions"), self.browser.text("#revisions")
        # The list is drawn again when the hub has kept another content, so the button is found and clicked at once.
        number = self.browser.run("const found = document.querySelector(arguments[0]); found.click(); return found.dataset.revision", button)
        self.browser.until("it can be done", lambda: not self.browser.run("return document.getElementById('act-do').disabled"))
        assert self.browser.text("#act-command") == f"tidegate rollout undo helloworld --to-revision {number}", self.browser.text("#act-command")
        self.browser.click("#act-do")
        self.browser.until("the undo is done", lambda: self.browser.text("#done").startswith("helloworld: rolled back"))
        self.phase("Done")
        item = f"#revisions [data-revision='{number}']"
        self.browser.until("the revision is current", lambda: "current" in self.browser.text(item))

    def places(self):
        """pause, resume and promote of one placement: with the right to, and without"""
        self.kubectl("label", "managedcluster", "cluster2", "ring=edge", "--overwrite")
        first = self.kubectl("get", "cma", "helloworld", "-o", "jsonpath={.spec.installStrategy.placements[0].name}")
        placement = json.loads(self.kubectl("get", "placement", first, "-n", "open-cluster-management", "-o", "json"))
        edge = {"apiVersion": placement["apiVersion"], "kind": "Placement", "metadata": {"name": "edge", "namespace": "open-cluster-management"}, "spec": {
            "clusterSets": placement["spec"].get("clusterSets", []),
            "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"ring": "edge"}}}}]}}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(edge))
        own = json.loads(self.kubectl("get", "cma", "helloworld", "-o", "jsonpath={.spec.installStrategy.placements[0]}"))
        own["rolloutStrategy"] = {"type": "Progressive", "progressive": {"maxConcurrency": 1, "minSuccessTime": "10m"}}
        both = [{"op": "replace", "path": "/spec/installStrategy/placements", "value": [own, {**own, "name": "edge"}]}]
        self.kubectl("patch", "cma", "helloworld", "--type=json", "-p", json.dumps(both))
        self.configure("hola")
        at = "#placements [data-placement='open-cluster-management/edge']"
        flag = " --placement open-cluster-management/edge"
        self.browser.until("clusters of the placement soak", lambda: self.browser.run("return !!document.querySelector(arguments[0])", f"{at} [data-verb=promote]"))
        self.act("pause", "paused", "INC-43", flag + " --reason INC-43", at)
        self.browser.until("the pause is shown", lambda: "paused (INC-43)" in self.browser.text(at))
        pause = json.loads(self.kubectl("get", "addonrollout", "helloworld", "-o", "json"))["spec"]
        assert not pause.get("pause") and [one["name"] for one in pause["placements"] if "pause" in one] == ["edge"], pause
        self.act("resume", "resumed", "", flag, at)
        self.act("promote", "promoted", "", flag, at)
        waves = {wave["placement"]: wave for wave in self.status()["waves"]}
        assert len(waves) == 2, waves
        for wave in waves.values():
            assert wave["state"] == "Done" or wave["eta"]["at"], wave
        self.browser.until("the end of a wave is shown", lambda: "ETA at least" in self.browser.text("#waves") or "ETA about" in self.browser.text("#waves"))

    def freezes(self):
        """freeze and unfreeze: with the right to, and without"""
        fields = {"name": "holidays", "reason": "end of year", "for": "4h", "labels": "env=prod", "addons": "helloworld"}
        command = "tidegate rollout freeze holidays --reason 'end of year' --for 4h --cluster-label env=prod --addon helloworld"
        listed = "#freeze-list [data-freeze=holidays]"
        for name, state in (("reader", "refused"), ("operator", "ready")):
            self.browser.open(f"{self.origin}/#/helloworld")
            self.user(name)
            self.browser.click("#to-freezes")
            for field, text in fields.items():
                self.browser.type(f"#freeze-{field}", text)
            self.browser.click("#freeze-form button")
            planned = self.planned("freeze", state)
            assert self.browser.text("#act-command") == command, self.browser.text("#act-command")
            if state == "refused":
                assert "the hub does not allow system:serviceaccount:default:reader to " in planned, planned
                self.browser.press(ESCAPE)
        self.shape()
        assert "(dry run, nothing is stored)" in planned and not self.kubectl("get", "rolloutfreezes", "-o", "name"), planned
        self.browser.click("#act-do")
        self.browser.until("the freeze is listed", lambda: "in force" in self.browser.text(listed))
        author = "Set by system:serviceaccount:default:operator (tidegate-rollout-freeze) at "
        assert author in self.browser.text(listed), self.browser.text(listed)
        assert self.browser.text("#to-freezes") == "Freezes (1 in force)", self.browser.text("#to-freezes")
        spec = json.loads(self.kubectl("get", "rolloutfreezes", "holidays", "-o", "jsonpath={.spec}"))
        assert (spec["clusterSelector"], spec["addOns"]) == ({"matchLabels": {"env": "prod"}}, ["helloworld"]), spec
        self.shoot("web-freezes.png")
        for name, state in (("reader", "refused"), ("operator", "ready")):
            self.browser.open(f"{self.origin}/#/helloworld")
            self.user(name)
            self.browser.click("#to-freezes")
            planned = self.dialog("unfreeze", state, listed)
            assert state == "ready" or "to delete resource rolloutfreezes" in planned, planned
            if state == "refused":
                self.browser.press(ESCAPE)
        assert self.browser.text("#act-command") == "tidegate rollout unfreeze holidays"
        self.browser.click("#act-do")
        self.browser.until("the freeze is deleted", lambda: not self.browser.text("#freeze-list") and self.browser.text("#to-freezes") == "Freezes")
        self.browser.open(f"{self.origin}/#/helloworld")
        self.browser.until("the rollout is shown", lambda: self.browser.text("#actions"))

    def foreign(self):
        """a page of another origin can neither act nor read"""
        token = self.browser.run("return sessionStorage.getItem('tidegate-token')")
        self.browser.open("data:text/html,<title>another</title>")
        tried = self.browser.run("""
            const headers = {Authorization: 'Bearer ' + arguments[1], 'Content-Type': 'application/json', 'Tidegate-Action': '1'};
            const body = JSON.stringify({freeze: {reason: 'x'}});
            const each = [['/api/freeze/foreign', {method: 'POST', headers, body}], ['/api/freeze/foreign', {method: 'POST', mode: 'no-cors', body}],
              ['/api/act/pause/helloworld', {method: 'POST', headers, body: '{}'}], ['/api/freezes', {headers}]];
            return Promise.all(each.map(([path, more]) => fetch(arguments[0] + path, more).then(({type}) => type, () => 'refused')))""", self.origin, token)
        # Some browsers send a request without own headers, and hide the response.
        assert tried[1] in ("refused", "opaque") and [tried[0], *tried[2:]] == ["refused"] * 3, tried
        assert not self.kubectl("get", "rolloutfreezes", "-o", "name")
        self.browser.log("browser")
        self.browser.open(f"{self.origin}/#/helloworld")
        self.browser.until("the rollout is shown", lambda: self.browser.text("#actions"))

    def closed(self):
        """the page forgets everything with its token"""
        self.browser.click("#leave")
        self.browser.until("the cells are gone", lambda: "cluster" not in self.browser.run("return document.getElementById('cell').textContent.replace('no cluster', '')"))
        body = self.browser.run("return document.title + document.body.outerHTML")
        assert "helloworld" not in body and "cluster1" not in body and "cluster24" not in body, body
        assert self.browser.run("return sessionStorage.length") == 0


main()
