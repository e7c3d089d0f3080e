// A person approves, edits or denies a tool call at an interrupt of LangGraph.
import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const { HOOKBACK_URL: hub = "http://127.0.0.1:4000", HOOKBACK_TIMEOUT: timeout = 300 } = process.env;
const ask = async (body) => (await fetch(hub + "/ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

const execute = ({ path }) => `deleted ${path}`;
const State = Annotation.Root({ call: Annotation(), result: Annotation() });
const graph = new StateGraph(State)
  .addNode("model", () => ({ call: { name: "delete_folder", arguments: { path: "./build" } } })) // your model's tool call
  .addNode("tool", ({ call }) => {
    const answer = interrupt(call);
    if (answer.permission !== true) return { result: answer.guidance ?? "No one approved this." };
    return { result: execute(answer.modifiedArguments ?? call.arguments) };
  })
  .addEdge(START, "model").addEdge("model", "tool").addEdge("tool", END)
  .compile({ checkpointer: new MemorySaver() });

const thread = { configurable: { thread_id: "1" } };
let state = await graph.invoke({}, thread);
while (state.__interrupt__?.length > 0) {
  const call = state.__interrupt__[0].value;
  const answer = await ask({ question: `Run ${call.name}?`, toolCall: { ...call, editable: true }, timeout: Number(timeout) });
  state = await graph.invoke(new Command({ resume: answer }), thread);
}
console.log(state.result);
