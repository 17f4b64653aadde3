// Scenarios of conversation graphs: built by mouse and by keyboard alone, changed, refused, and seen in calls.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ask, button, byKeys, checkAccess, close, dialog, fits, heading, inDialog, signedIn, tabTo, until, waitFor } from "./browser.mjs";

const { RINGBACK_URL: service } = process.env;
const HOSTILE = "<img src=x onerror=alert(1)>";
const DEPARTMENTS = { Sales: "+15550100011", Support: "+15550100012", Billing: "+15550100013" };

const make = (name, workflow) => ask("POST", "/agents/create",
  { name, conversationConfig: { agent: { prompt: { prompt: "You are the reception." }, greetingMessage: "Hello." } }, ...(workflow && { workflow }) });
const read = async (agentId) => (await ask("GET", `/agents/${agentId}`)).workflow;
const panel = (page) => page.getByRole("complementary");
const drawn = (page, name) => page.locator("[data-node]").filter({ hasText: name });
const list = (page) => page.locator(".graph-list");
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("name") ?? document.activeElement?.tagName);

/** A graph without its places, which the drawing decides. */
function withoutPlaces({ nodes, edges }) {
  const stripped = Object.entries(nodes).map(([id, { position, ...node }]) => {
    assert.ok(Number.isInteger(position?.x), `${id} has no place`);
    return [id, node];
  });
  return { nodes: Object.fromEntries(stripped), edges };
}

/** A reception with three departments and an end. */
function reception() {
  const nodes = { start: { type: "start", edgeOrder: ["edge_1"] },
    override_agent_1: { type: "override_agent", label: "Ask", additionalPrompt: "Find out the department.", edgeOrder: ["edge_2", "edge_3", "edge_4", "edge_5"] },
    end_1: { type: "end", outcome: "success" } };
  const edges = { edge_1: { source: "start", target: "override_agent_1", forwardCondition: { type: "unconditional" } },
    edge_5: { source: "override_agent_1", target: "end_1", forwardCondition: { type: "else" } } };
  for (const [at, [label, phoneNumber]] of Object.entries(DEPARTMENTS).entries()) {
    const id = `phone_number_${at + 1}`;
    nodes[id] = { type: "phone_number", label, transferDestination: { type: "phone", phoneNumber }, transferType: "blind" };
    edges[`edge_${at + 2}`] = { source: "override_agent_1", target: id, forwardCondition: { type: "llm", condition: `The caller wants ${label}.` } };
  }
  return { nodes, edges };
}

export const graph = {
  async "build a reception with three departments by mouse"(browser) {
    const { agentId } = await make("Reception, clicked");
    const page = await signedIn(browser, `/agents/${agentId}`), form = panel(page);
    await page.getByRole("tab", { name: "Conversation graph" }).click();
    await checkAccess(page, "an agent without a graph");
    await button(page, "Begin with a start").click();
    const add = async (type) => { await page.getByText("Add a node").click(); await button(page, type).click(); };
    await add("Talk");
    await button(page, "Undo").click();
    await button(page, "Undo").click();
    await button(page, "Redo").click();
    await button(page, "Redo").click();
    await drawn(page, "Talk 1").click();
    // What leads to it is taken always, so nothing else leads on from the start.
    await drawn(page, "Start").click();
    await add("Say");
    assert.equal(await list(page).getByRole("button", { name: "→ Say 1" }).count(), 0);
    await button(page, "Undo").click();
    await drawn(page, "Talk 1").click();
    await form.getByLabel("Label").first().fill("Ask");
    await form.getByLabel("What to do here").fill("Find out the department.");
    for (const [label, number] of Object.entries(DEPARTMENTS)) {
      await drawn(page, "Ask").click();
      await add("Transfer");
      await form.getByLabel("Label").first().fill(label);
      await form.getByLabel("Phone number, or name").fill(number);
      await list(page).getByRole("button", { name: `no condition yet → ${label}` }).click();
      await form.getByLabel("Condition", { exact: false }).first().fill(`The caller wants ${label}.`);
    }
    await page.keyboard.press("Escape");
    await button(page, "The whole graph").click();
    await add("End");
    await form.getByLabel("Outcome").selectOption("success");
    // An edge, drawn from the dot below one node to another node.
    await drawn(page, "Ask").hover();
    const dot = await drawn(page, "Ask").locator(".handle").boundingBox(), end = await drawn(page, "End 1").boundingBox();
    await page.mouse.move(dot.x + dot.width / 2, dot.y + dot.height / 2);
    await page.mouse.down();
    await page.mouse.move(end.x + 40, end.y + 20, { steps: 5 });
    await page.mouse.up();
    await form.getByRole("heading", { name: "Ask → End 1" }).waitFor();
    await form.getByLabel("Taken", { exact: false }).first().selectOption("else");
    await checkAccess(page, "a graph");
    await button(page, "Save the graph").click();
    await waitFor(page, "The graph is saved.");
    assert.deepEqual(withoutPlaces(await read(agentId)), reception());

    // Undone and done again, by the buttons and by keys.
    await drawn(page, "Billing").click();
    await button(page, "Remove this node").click();
    await waitFor(page, "Removed with 1 edge; Undo brings it back.");
    await drawn(page, "Billing").waitFor({ state: "detached" });
    await button(page, "Undo").click();
    await drawn(page, "Billing").waitFor();
    await page.keyboard.press("Control+Shift+z");
    await drawn(page, "Billing").waitFor({ state: "detached" });
    await button(page, "Discard").click();
    await drawn(page, "Billing").waitFor();
    await waitFor(page, "The graph is saved.");
    await page.reload();
    await drawn(page, "Billing").waitFor();
    await close(page);
  },

  async "build a reception with three departments by keyboard alone"(browser) {
    const { agentId } = await make("Reception, typed");
    const page = await signedIn(browser, `/agents/${agentId}`);
    await heading(page).filter({ hasText: "Reception, typed" }).waitFor();
    await byKeys(page, "Set-up", { key: "ArrowRight" });
    await byKeys(page, "Begin with a start", { key: "Enter" });
    const add = async (type) => {
      await byKeys(page, "Add a node", { key: "Enter" });
      await byKeys(page, type, { key: "Enter" });
      await until(async () => (await focused(page)) === "label", "the focus in the form");
    };
    // The drawing, in which the arrows move from node to node.
    const choose = async (name) => {
      await tabTo(page, "Drawing of the graph");
      for (let n = 0; n < 9 && !(await panel(page).getByRole("heading", { name, exact: true }).count()); n++) await page.keyboard.press("ArrowUp");
      for (let n = 0; n < 9 && !(await panel(page).getByRole("heading", { name, exact: true }).count()); n++) await page.keyboard.press("ArrowDown");
    };
    await add("Talk");
    await page.keyboard.type("Ask");
    await byKeys(page, "What to do here", { text: "Find out the department." });
    for (const [label, number] of Object.entries(DEPARTMENTS)) {
      await choose("Ask");
      await add("Transfer");
      await page.keyboard.type(label);
      await byKeys(page, "Phone number, or name", { text: number });
      await byKeys(page, `no condition yet → ${label}`, { key: "Enter" });
      await byKeys(page, "Condition", { text: `The caller wants ${label}.` });
    }
    await choose("Ask");
    await add("End");
    await byKeys(page, "Outcome", { text: "s" });
    await byKeys(page, "no condition yet → End", { key: "Enter" });
    await byKeys(page, "Taken", { text: "el" });
    await byKeys(page, "Save the graph", { key: "Enter" });
    await waitFor(page, "The graph is saved.");
    assert.deepEqual(withoutPlaces(await read(agentId)), reception());

    // Delete removes what is chosen in the drawing, and the order of judging can be changed.
    await choose("Ask");
    await page.keyboard.press("Enter");
    await byKeys(page, "Judge later: The caller wants Sales.", { key: "Enter" });
    await choose("Sales");
    await page.keyboard.press("Delete");
    await page.keyboard.press("Control+z");
    await byKeys(page, "Save the graph", { key: "Enter" });
    await until(async () => (await read(agentId)).nodes.override_agent_1.edgeOrder.join() === "edge_3,edge_2,edge_4,edge_5", "the new order");
    await close(page);
  },

  async "say at its place what is wrong with a graph, and keep it until it is mended"(browser) {
    const { agentId } = await make("Wrong graph");
    const page = await signedIn(browser, `/agents/${agentId}?tab=graph`), form = panel(page);
    // What ElevenLabs' API writes, with an edge that ends nowhere.
    const text = { name: "From elsewhere", workflow: { prevent_subagent_loops: true,
      nodes: { start_node: { type: "start", edge_order: ["to_say"] }, hello: { type: "say", message: { type: "literal", text: HOSTILE }, label: HOSTILE } },
      edges: { to_say: { source: "start_node", target: "hello", forward_condition: { type: "expression", label: null, expression: { type: "gt_operator",
        left: { type: "dynamic_variable", name: "party_size" }, right: { type: "number_literal", value: 8 } } } }, lost: { source: "hello", target: "gone" } } } };
    await button(page, "As JSON").click();
    await dialog(page).getByLabel("The graph").fill("[1]");
    await inDialog(page, "Use this graph").click();
    await dialog(page).getByText("This is not a JSON object.").waitFor();
    await checkAccess(page, "a graph as JSON");
    await dialog(page).getByLabel("The graph").fill(JSON.stringify(text));
    await inDialog(page, "Use this graph").click();
    await button(page, "Save the graph").click();
    await form.getByText("gone is not a node").or(form.getByText(/"gone" is not a node/)).first().waitFor();
    assert.equal(await focused(page), "target");
    await list(page).getByText("needs a look").first().waitFor();
    assert.deepEqual((await read(agentId)).nodes, {});
    await checkAccess(page, "a graph that was refused");
    await button(page, "Remove this edge").click();

    // A formula that makes no sense is not sent.
    await list(page).getByRole("button", { name: /party_size > 8 →/ }).click();
    await form.getByLabel("Formula").first().fill("party_size >");
    await form.getByText("This makes no sense from character 13 on.").waitFor();
    await form.getByLabel("Formula").first().fill("a + ".repeat(20_000));
    await form.getByText("A formula has at most 2,000 characters.").waitFor();
    await form.getByLabel("Formula").first().fill("party_size >");
    await list(page).getByRole("button", { name: HOSTILE }).first().click();
    await button(page, "Save the graph").click();
    await until(async () => (await focused(page)) === "forwardCondition.expression", "the focus on the formula");
    await form.getByLabel("Formula").first().fill('party_size > 12 and day == "Monday"');
    await button(page, "Save the graph").click();
    await waitFor(page, "The graph is saved.");
    const { nodes, edges, preventSubagentLoops } = await read(agentId);
    assert.equal(preventSubagentLoops, true);
    assert.equal(nodes.hello.message.text, HOSTILE);
    assert.deepEqual(edges.to_say.forwardCondition.expression.children.map(({ type }) => type), ["gt_operator", "eq_operator"]);
    assert.equal(await page.locator("main img").count(), 0);

    // The service's findings about a graph that it keeps, also after a reload.
    await waitFor(page, "Saved. Check the marked parts");
    // A graph without a field that has a default is saved, too.
    const { preventSubagentLoops: _, ...short } = await read(agentId);
    await button(page, "As JSON").click();
    await dialog(page).getByLabel("The graph").fill(JSON.stringify(short));
    await inDialog(page, "Use this graph").click();
    await waitFor(page, "has changes that are not saved");
    await button(page, "Save the graph").click();
    await waitFor(page, "The graph is saved.");
    await page.reload();
    await list(page).getByText("needs a look").first().waitFor();
    const warning = "a limit; `workflow.nodes.hello.message` is empty; `workflow.edges.to_say.forwardCondition` reads \"party_size\", which nothing sets; 2 more";
    await page.route(`**/public/v1/agents/${agentId}`, async (route) => route.fulfill({ json: { ...await (await route.fetch()).json(), warning } }));
    await page.goto(`${service}/agents/${agentId}`);
    await page.getByText("a limit").filter({ hasText: "2 parts of the conversation graph need a look." }).waitFor();
    await page.getByRole("tab", { name: "Conversation graph" }).click();
    await waitFor(page, "2 parts of the graph need a look.");
    await list(page).getByRole("button", { name: /party_size > 12 .*needs a look/ }).click();
    await form.getByText('reads "party_size", which nothing sets').waitFor();
    await drawn(page, HOSTILE).first().click();
    await form.getByText("is empty").waitFor();
    await checkAccess(page, "a graph with findings");
    await close(page);
  },

  async "two people change one graph, and one of them its agent"(browser) {
    const { agentId } = await make("Shared graph", reception());
    const page = await signedIn(browser, `/agents/${agentId}?tab=graph`), form = panel(page);
    await drawn(page, "Sales").click();
    await form.getByLabel("Label").first().fill("Shop");
    await ask("PATCH", `/agents/${agentId}`, { tags: ["theirs"] });
    await button(page, "Save the graph").click();
    await until(async () => (await read(agentId)).nodes.phone_number_1.label === "Shop", "saved beside a change of the agent");
    await waitFor(page, "The graph is saved.");
    await form.getByLabel("Label").first().fill("Store");
    await ask("PATCH", `/agents/${agentId}`, { workflow: { nodes: { phone_number_2: { label: "Help" } } } });
    await button(page, "Save the graph").click();
    await page.getByRole("alert").filter({ hasText: "Somebody else changed the graph meanwhile" }).waitFor();
    await drawn(page, "Help").waitFor();
    await drawn(page, "Store").waitFor();
    await button(page, "Save the graph").click();
    await waitFor(page, "The graph is saved.");
    const { nodes } = await read(agentId);
    assert.deepEqual([nodes.phone_number_1.label, nodes.phone_number_2.label], ["Store", "Help"]);
    // What is typed in the other tab is still there.
    await page.getByRole("tab", { name: "Set-up" }).click();
    await page.locator("[name=tags]").fill("mine");
    await page.getByRole("tab", { name: "Conversation graph" }).click();
    await drawn(page, "Store").waitFor();
    await page.getByRole("tab", { name: "Set-up" }).click();
    assert.equal(await page.locator("[name=tags]").inputValue(), "mine");
    await close(page);
  },

  async "see where a talk is, and the way that a call took"(browser) {
    const { agentId } = await make("Walked graph", reception());
    const page = await signedIn(browser, `/agents/${agentId}?tab=graph`);
    const node = (name) => ({ status: 200, contentType: "text/event-stream", body: `id: 2\nevent: node\ndata: {"node":"${name}"}\n\n` });
    await page.route("**/public/v1/conversations/*/live", (route) => route.fulfill(node("phone_number_2")));
    await button(page, "Talk to it").click();
    const [answer] = await Promise.all([page.waitForResponse(/\/agents\/test-call$/), button(page, "Begin to talk").click()]);
    await waitFor(page, "The call is in Support.");
    await page.locator(".node.present").filter({ hasText: "Support" }).waitFor();
    await list(page).getByText("the call is here").waitFor();
    await button(page, "Hang up").click();
    await page.locator(".node.present").waitFor({ state: "detached" });
    const { conversationId } = (await answer.json()).data;
    await until(async () => (await ask("GET", `/conversations/${conversationId}`)).status !== "in_progress", "the end of the call");

    const path = [["start", 0], ["override_agent_1", 0], ["phone_number_3", 4200]].map(([id, atMs]) => ({ node: id, atMs }));
    await page.route(`**/public/v1/conversations/${conversationId}`, async (route) => {
      const answered = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answered, data: { ...answered.data, agentId, workflowPath: path } } });
    });
    await page.goto(`${service}/calls/${conversationId}`);
    const way = page.getByRole("region", { name: "Way through the graph" });
    await way.locator(".node").filter({ hasText: "Billing" }).locator(".step").getByText("3").waitFor();
    assert.deepEqual((await way.getByRole("listitem").allTextContents()).map((each) => each.replace(/\s+/g, " ").trim()), ["0:00 Start", "0:00 Ask", "0:04 Billing"]);
    await checkAccess(page, "a call with its way through the graph");
    await close(page);
  },

  async "begin with each example: no violation in light and dark, none too wide"(browser) {
    for (const [at, name] of ["Reception", "Qualification", "Appointment", "Survey"].entries()) {
      const { agentId } = await make(`Example ${name}`);
      const page = await signedIn(browser, `/agents/${agentId}?tab=graph`, { colorScheme: at % 2 ? "dark" : "light" });
      await button(page, `Use ${name}`).click();
      await page.locator("[data-node]").first().waitFor();
      await checkAccess(page, name);
      await fits(page, name);
      await button(page, "Save the graph").click();
      await waitFor(page, "The graph is saved.");
      const { nodes, edges } = await read(agentId);
      // The same as in the documents.
      assert.deepEqual({ nodes, edges }, JSON.parse(readFileSync(`docs/examples/workflows/${name.toLowerCase()}.json`, "utf8")));
      await close(page);
    }
  },
};
